//! Which rank of which job a process is, as its launcher told it in the environment or on the command line.
//!
//! Only the variables and options named here are looked at, and nothing but the job's name and the rank is kept: of a command
//! line a number that equal ones have in common.

use crate::model::Rank;
use crate::root::Root;
use std::hash::{DefaultHasher, Hasher};

/// Variables that hold the rank, by launcher: Open MPI, `PMIx`, `MPICH` and Intel MPI, Slurm, torchrun; the rank on this
/// host where no other is told.
const RANKS: [&str; 6] =
    ["OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID", "RANK", "LOCAL_RANK"];

/// Options that hold it on the command line (`torch.distributed.launch`, `DeepSpeed`): `--local_rank=1`, `--rank 1`.
const OPTIONS: [&str; 3] = ["--local_rank", "--local-rank", "--rank"];

/// Variables that together name the job; the first group that is there wins.
const JOBS: [&[&str]; 5] = [
    &["SLURM_JOB_ID", "SLURM_STEP_ID"],
    &["PMIX_NAMESPACE"],
    &["TORCHELASTIC_RUN_ID", "MASTER_ADDR", "MASTER_PORT"],
    &["MASTER_ADDR", "MASTER_PORT"],
    &["PMI_JOBID"],
];

/// The rank of a process; `None` when neither its environment (which only its owner and root may read) nor its command line
/// tells one (`environ` and `cmdline` of proc(5)).
pub(super) fn read(root: &Root, pid: u32) -> Option<Rank> {
    let bytes = |file: &str| root.bytes(format!("proc/{pid}/{file}")).unwrap_or_default();
    let environment = bytes("environ");
    of_environment(&environment).or_else(|| {
        let command = bytes("cmdline");
        let (rank, job) = of_command(&command);
        // a rank of the environment that no job goes with: equal commands are one
        let rank = rank.or_else(|| RANKS.iter().find_map(|name| value(&environment, name)?.parse().ok()))?;
        Some(Rank { job, rank })
    })
}

/// The rank that a command line names, and a name for all command lines that are equal but for it.
fn of_command(command: &[u8]) -> (Option<u32>, String) {
    let mut rank = None;
    let mut rest = DefaultHasher::new();
    let mut words = command.split(|byte| *byte == 0);
    while let Some(word) = words.next() {
        let text = std::str::from_utf8(word).unwrap_or_default();
        let (option, told) = text.split_once('=').map_or((text, None), |(option, told)| (option, Some(told)));
        if OPTIONS.contains(&option) {
            let told = told.or_else(|| std::str::from_utf8(words.next()?).ok());
            rank = rank.or_else(|| told?.parse().ok());
            rest.write(option.as_bytes());
        } else {
            rest.write(word);
        }
        rest.write_u8(0);
    }
    (rank, format!("command {:08x}", rest.finish() >> 32))
}

/// The variables that are looked at here, of a whole environment.
pub(super) fn variables(environment: &[u8]) -> Vec<u8> {
    let is_read = |variable: &&[u8]| {
        let name = variable.split(|byte| *byte == b'=').next().unwrap_or_default();
        RANKS.iter().chain(JOBS.iter().copied().flatten()).any(|read| read.as_bytes() == name)
    };
    let mut kept = Vec::new();
    for variable in environment.split(|byte| *byte == 0).filter(is_read) {
        kept.extend_from_slice(variable);
        kept.push(0);
    }
    kept
}

fn of_environment(environment: &[u8]) -> Option<Rank> {
    let value = |name: &str| value(environment, name);
    let rank = RANKS.iter().find_map(|name| value(name)?.parse().ok())?;
    let job = JOBS.iter().find_map(|group| {
        let values: Vec<&str> = group.iter().map(|name| value(name)).collect::<Option<_>>()?;
        Some(values.join(" "))
    })?;
    Some(Rank { job, rank })
}

fn value<'a>(environment: &'a [u8], name: &str) -> Option<&'a str> {
    environment.split(|byte| *byte == 0).find_map(|variable| {
        let value = variable.strip_prefix(name.as_bytes())?.strip_prefix(b"=")?;
        std::str::from_utf8(value).ok().filter(|value| !value.is_empty())
    })
}

#[cfg(test)]
mod tests {
    use super::{of_command, of_environment, variables};

    fn command(text: &str) -> (Option<u32>, String) {
        of_command(text.replace(' ', "\0").as_bytes())
    }

    #[test]
    fn equal_command_lines_with_a_rank_each_are_one_job() {
        let first = command("python3 train.py --local_rank=0 --secret x");
        assert_eq!(first.0, Some(0));
        assert_eq!(command("python3 train.py --local_rank=1 --secret x"), (Some(1), first.1.clone()));
        assert_eq!(command("python3 train.py --local_rank 7 --secret x").0, Some(7));
        assert_ne!(command("python3 other.py --local_rank=1 --secret x").1, first.1);
        assert!(first.1.starts_with("command ") && !first.1.contains("train"), "{}", first.1);
        assert_eq!(command("python3 train.py --rank-file 3 --local_rank").0, None);
    }

    fn rank(environment: &str) -> Option<(String, u32)> {
        of_environment(environment.replace(' ', "\0").as_bytes()).map(|rank| (rank.job, rank.rank))
    }

    #[test]
    fn launchers_tell_job_and_rank() {
        let some = |job: &str, rank| Some((job.to_owned(), rank));
        assert_eq!(rank("HOME=/root SLURM_JOB_ID=77 SLURM_STEP_ID=0 SLURM_PROCID=3"), some("77 0", 3));
        assert_eq!(rank("RANK=5 WORLD_SIZE=8 MASTER_ADDR=n1 MASTER_PORT=29500"), some("n1 29500", 5));
        assert_eq!(rank("PMIX_RANK=0 PMIX_NAMESPACE=prterun-1@1"), some("prterun-1@1", 0));
    }

    #[test]
    fn of_an_environment_only_what_tells_the_rank_is_kept() {
        let whole = b"AWS_SECRET=x\0RANK=5\0RANKED=no\0MASTER_ADDR=n1\0MASTER_PORT=1\0TOKEN=RANK=7\0=\0";
        let kept = variables(whole);
        assert_eq!(kept, b"RANK=5\0MASTER_ADDR=n1\0MASTER_PORT=1\0");
        assert_eq!(of_environment(&kept), of_environment(whole));
    }

    #[test]
    fn a_rank_without_a_job_or_a_job_without_a_rank_is_none() {
        for environment in
            ["RANK=1", "SLURM_JOB_ID=77 SLURM_STEP_ID=0", "RANK=x MASTER_ADDR=a MASTER_PORT=1", ""]
        {
            assert_eq!(rank(environment), None, "{environment}");
        }
    }
}
