//! [`Settings`], which users give in environment variables.

use std::fmt;
use std::path::PathBuf;

use crate::exec::Order;
use crate::memory::Checks;

/// Time at which the device performs work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Timing {
    /// The call that starts the work performs it.
    #[default]
    Eager,
    /// Calls that wait perform it, in a random order that streams and events allow.
    Deferred,
}

/// The settings of the interpreter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Settings {
    /// `PTXRUN_QUEUES`.
    pub(super) timing: Timing,
    /// `PTXRUN_THREADS`.
    pub(super) order: Order,
    /// `PTXRUN_PROCESSORS`: number of multiprocessors that the device reports.
    pub(super) processors: i32,
    /// `PTXRUN_SEED`: seed of all random choices.
    pub(super) seed: u64,
    /// `PTXRUN_CHECK`.
    pub(super) checks: Checks,
    /// `PTXRUN_REPORT`: file to which the report is written when the process ends.
    pub(super) report: Option<PathBuf>,
    /// `PTXRUN_DETAIL`: whether the report has the counts of each instruction.
    pub(super) detail: bool,
    /// `PTXRUN_MEASURE`: whether sectors and conflicts are counted.
    pub(super) measure: bool,
}

/// An environment variable with a value that the interpreter does not accept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct InvalidSetting {
    name: &'static str,
    /// The values that are accepted.
    rule: &'static str,
    value: String,
}

impl fmt::Display for InvalidSetting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: must be {}, got {}", self.name, self.rule, self.value)
    }
}

impl Settings {
    /// Reads the settings. `variable` returns the value of an environment variable, or `None` if it is not set.
    pub(super) fn read(variable: impl Fn(&str) -> Option<String>) -> Result<Self, InvalidSetting> {
        let set = |name: &'static str| variable(name).filter(|value| !value.is_empty());
        let number = |name, default: u64| match set(name) {
            None => Ok(default),
            Some(value) => value.parse().map_err(|_| {
                let rule = "a number of at most 64 bits";
                InvalidSetting { name, rule, value }
            }),
        };
        let name = "PTXRUN_QUEUES";
        let timing = match set(name) {
            None => Timing::default(),
            Some(value) => match value.as_str() {
                "eager" => Timing::Eager,
                "deferred" => Timing::Deferred,
                _ => return Err(InvalidSetting { name, rule: "eager or deferred", value }),
            },
        };
        let name = "PTXRUN_THREADS";
        let order = match set(name) {
            None => Order::default(),
            Some(value) if value == "lockstep" => Order::Lockstep,
            Some(value) => {
                let warps = value.strip_prefix("random:").and_then(|warps| warps.parse().ok());
                let rule = "lockstep or random:N";
                let warps = warps.ok_or(InvalidSetting { name, rule, value })?;
                Order::Random { warps }
            }
        };
        let name = "PTXRUN_CHECK";
        let mut checks = Checks::default();
        for value in set(name).unwrap_or_default().split(',').filter(|check| !check.is_empty()) {
            match value {
                "init" => checks.init = true,
                "race" => checks.race = true,
                _ => {
                    let (rule, value) = ("init, race or init,race", value.to_owned());
                    return Err(InvalidSetting { name, rule, value });
                }
            }
        }
        let name = "PTXRUN_PROCESSORS";
        let processors = number(name, 4)?;
        let processors = i32::try_from(processors).map_err(|_| {
            let rule = "less than 2147483648";
            InvalidSetting { name, rule, value: processors.to_string() }
        })?;
        Ok(Self {
            timing,
            order,
            processors,
            seed: number("PTXRUN_SEED", 1)?,
            checks,
            report: set("PTXRUN_REPORT").map(PathBuf::from),
            detail: variable("PTXRUN_DETAIL").is_some(),
            measure: number("PTXRUN_MEASURE", 0)? != 0,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(name: &str, value: &str) -> Result<Settings, InvalidSetting> {
        Settings::read(|asked| (asked == name).then(|| value.to_owned()))
    }

    #[test]
    fn settings_have_defaults() {
        let settings = Settings::read(|_| None).unwrap();
        let expected = Settings {
            timing: Timing::Eager,
            order: Order::Lockstep,
            processors: 4,
            seed: 1,
            checks: Checks { init: false, race: false },
            report: None,
            detail: false,
            measure: false,
        };
        assert_eq!(settings, expected);
        assert_eq!(read("PTXRUN_QUEUES", "").unwrap(), expected);
    }

    #[test]
    fn settings_are_read() {
        assert_eq!(read("PTXRUN_QUEUES", "deferred").unwrap().timing, Timing::Deferred);
        assert_eq!(read("PTXRUN_THREADS", "random:8").unwrap().order, Order::Random { warps: 8 });
        let checks = Checks { init: true, race: true };
        assert_eq!(read("PTXRUN_CHECK", "init,race").unwrap().checks, checks);
        assert_eq!(read("PTXRUN_PROCESSORS", "132").unwrap().processors, 132);
        assert!(read("PTXRUN_DETAIL", "1").unwrap().detail);
    }

    #[test]
    fn other_values_are_rejected() {
        let invalid = [
            ("PTXRUN_QUEUES", "lazy"),
            ("PTXRUN_THREADS", "random"),
            ("PTXRUN_THREADS", "random:many"),
            ("PTXRUN_CHECK", "all"),
            ("PTXRUN_PROCESSORS", "4294967296"),
            ("PTXRUN_SEED", "-1"),
        ];
        for (name, value) in invalid {
            let error = read(name, value).unwrap_err();
            assert_eq!((error.name, error.value.as_str()), (name, value));
        }
    }
}
