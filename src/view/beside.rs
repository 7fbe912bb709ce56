//! The command in an advice, to be copied: never the words around it, and never what only stands for something.

/// Programs that advice names. Flags, codes and file names stand in backticks too, and are no commands.
const PROGRAMS: &[&str] = &[
    "cat",
    "dcb",
    "devlink",
    "dmesg",
    "echo",
    "ethtool",
    "flint",
    "ib_read_bw",
    "ibstat",
    "ip",
    "lspci",
    "mlnx_qos",
    "mlxconfig",
    "mlxfwmanager",
    "mlxfwreset",
    "mlxlink",
    "modprobe",
    "numactl",
    "nvidia-smi",
    "perfquery",
    "railscope",
    "rdma",
    "setpci",
    "sminfo",
    "sysctl",
    "systemctl",
    "taskset",
    "ulimit",
];

/// A command beside what is selected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Beside {
    /// The command.
    pub command: String,
    /// Whether arguments of it were left out, which are not known here.
    pub is_open: bool,
}

/// The first command that stands in backticks in this advice; `None` where none does.
pub fn of(advice: &str) -> Option<Beside> {
    advice.split('`').skip(1).step_by(2).find_map(|quoted| {
        let (command, is_open) = match quoted.strip_suffix("...") {
            Some(command) => (command.trim_end(), true),
            None => (quoted, false),
        };
        let (program, rest) = command.split_once(' ')?;
        let is_command = PROGRAMS.contains(&program) && !rest.is_empty() && !command.contains("...");
        is_command.then(|| Beside { command: command.to_owned(), is_open })
    })
}

#[cfg(test)]
mod tests {
    use super::{Beside, of};

    #[test]
    fn a_command_is_copied_and_no_prose_beside_it() {
        let command = |advice: &str| of(advice).map(|beside| beside.command);
        for (advice, copied) in [
            (
                "`sysctl -w kernel.numa_balancing=0` for the time of a measurement",
                Some("sysctl -w kernel.numa_balancing=0"),
            ),
            ("more queue pairs (`--qps`), or look with `ethtool nic1`", Some("ethtool nic1")),
            ("see `rail-imbalance`; nothing is broken", None),
            ("numactl is what mends it", None),
            ("reseat the card", None),
            ("an unfinished `ip link", Some("ip link")),
            ("`ip ... up`", None),
        ] {
            assert_eq!(command(advice).as_deref(), copied, "{advice}");
        }
    }

    #[test]
    fn what_stands_for_arguments_is_left_out_and_told() {
        let beside = of("start it again as: `numactl --cpunodebind=0 --membind=0 ib_read_bw ...`").unwrap();
        let command = "numactl --cpunodebind=0 --membind=0 ib_read_bw".to_owned();
        assert_eq!(beside, Beside { command, is_open: true });
    }
}
