//! Which rank of which job a process is, as its launcher told it in the environment.
//!
//! Only the variables named here are looked at, and nothing but the job's name and the rank is kept.

use crate::model::Rank;
use crate::root::Root;

/// Variables that hold the rank, by launcher: Open MPI, `PMIx`, `MPICH` and Intel MPI, Slurm, torchrun.
const RANKS: [&str; 5] = ["OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID", "RANK"];

/// Variables that together name the job; the first group that is there wins.
const JOBS: [&[&str]; 5] = [
    &["SLURM_JOB_ID", "SLURM_STEP_ID"],
    &["PMIX_NAMESPACE"],
    &["TORCHELASTIC_RUN_ID", "MASTER_ADDR", "MASTER_PORT"],
    &["MASTER_ADDR", "MASTER_PORT"],
    &["PMI_JOBID"],
];

/// The rank of a process; `None` when its environment names none.
///
/// # Errors
///
/// `/proc/PID/environ` (proc(5)) is not readable: it is another user's.
pub(super) fn read(root: &Root, pid: u32) -> Result<Option<Rank>, String> {
    let environment = root.bytes(format!("proc/{pid}/environ")).map_err(|error| error.to_string())?;
    Ok(of_environment(&environment))
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
    let value = |name: &str| {
        environment.split(|byte| *byte == 0).find_map(|variable| {
            let value = variable.strip_prefix(name.as_bytes())?.strip_prefix(b"=")?;
            std::str::from_utf8(value).ok().filter(|value| !value.is_empty())
        })
    };
    let rank = RANKS.iter().find_map(|name| value(name)?.parse().ok())?;
    let job = JOBS.iter().find_map(|group| {
        let values: Vec<&str> = group.iter().map(|name| value(name)).collect::<Option<_>>()?;
        Some(values.join(" "))
    })?;
    Some(Rank { job, rank })
}

#[cfg(test)]
mod tests {
    use super::{of_environment, variables};

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
