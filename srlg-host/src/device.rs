//! [`Device`]: the name of where a detector runs.

use std::fmt;
use std::str::FromStr;

use crate::error::Error;

/// The device on which a detector keeps its recorders and runs. The answers have the same bits everywhere.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Device {
    /// The first NVIDIA GPU, or the CPU where there is none that can be used: no driver, no
    /// device, or either of them too old. [`SlidingDetector::device`](crate::SlidingDetector::device) says
    /// which it became.
    #[default]
    Auto,
    /// This process.
    Cpu,
    /// The NVIDIA GPU of that number, counted from 0.
    Cuda(u32),
}

/// `auto`, `cpu`, `cuda:0`.
impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auto => f.write_str("auto"),
            Self::Cpu => f.write_str("cpu"),
            Self::Cuda(ordinal) => write!(f, "cuda:{ordinal}"),
        }
    }
}

/// As it is written by [`Display`](fmt::Display); `cuda` is `cuda:0`.
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
