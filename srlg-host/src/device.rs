//! [`Device`]: the CPU or GPU on which a detector runs.

use std::fmt;
use std::str::FromStr;

use crate::error::Error;

/// The device that runs a detector and stores its recorders. Results are equal, bit for bit, on all devices.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Device {
    /// The first NVIDIA GPU, or the CPU if that GPU is not usable.
    ///
    /// A GPU is not usable if it or its driver is missing or too old, or if srlg was built without CUDA.
    /// [`SlidingDetector::device`](crate::SlidingDetector::device) returns the chosen device.
    #[default]
    Auto,
    /// The CPU, in this process.
    Cpu,
    /// The NVIDIA GPU with this number, counted from 0.
    Cuda(u32),
}

/// Formats the name of the device: `auto`, `cpu` or, for example, `cuda:0`.
impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auto => f.write_str("auto"),
            Self::Cpu => f.write_str("cpu"),
            Self::Cuda(ordinal) => write!(f, "cuda:{ordinal}"),
        }
    }
}

/// Parses a name as written by [`Display`](fmt::Display). `cuda` means `cuda:0`.
impl FromStr for Device {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self, Error> {
        let ordinal = match name {
            "auto" => return Ok(Self::Auto),
            "cpu" => return Ok(Self::Cpu),
            "cuda" => Some("0"),
            _ => name.strip_prefix("cuda:"),
        };
        let ordinal = ordinal.and_then(|ordinal| ordinal.parse().ok());
        ordinal.map(Self::Cuda).ok_or_else(|| Error::DeviceName { name: name.into() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_are_read_as_they_are_written() {
        for device in [Device::Auto, Device::Cpu, Device::Cuda(0), Device::Cuda(7)] {
            assert_eq!(device.to_string().parse::<Device>().unwrap(), device);
        }
        assert_eq!("cuda".parse::<Device>().unwrap(), Device::Cuda(0));
        for name in ["", "gpu", "CPU", "cuda:", "cuda:-1", "cuda0", "cuda:99999999999"] {
            let error = name.parse::<Device>().unwrap_err();
            assert!(matches!(&error, Error::DeviceName { name: it } if it == name), "{error}");
        }
    }
}
