//! What becomes of the rails that a server offers, while nobody may be using them.

use super::offer::Offer;
use probes::root::Root;

/// The rails of a server, as they were seen last.
pub struct Lookout {
    root: Root,
    rails: Vec<(String, u32, Seen)>,
}

/// What a look at a rail finds.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Seen {
    /// The device is gone.
    Gone,
    /// It is there, and its port in this state; `None` where it cannot be read.
    There(Option<String>),
}

impl Lookout {
    /// Begins with what is there now; one that is gone already, though it is offered, is news to the first look.
    #[must_use]
    pub fn over(root: Root, offers: &[Offer]) -> Self {
        let rails = offers.iter().map(|offer| {
            let seen = match look(&root, &offer.device, offer.port) {
                Seen::Gone => Seen::There(None),
                seen @ Seen::There(_) => seen,
            };
            (offer.device.clone(), offer.port, seen)
        });
        Self { rails: rails.collect(), root }
    }

    /// What has changed since the last look, a line each.
    ///
    /// Source: Documentation/ABI/stable/sysfs-class-infiniband, `ports/<port-num>/state`.
    pub fn look(&mut self) -> Vec<String> {
        let mut lines = Vec::new();
        for (device, port, seen) in &mut self.rails {
            let now = look(&self.root, device, *port);
            if now != *seen {
                lines.extend(in_words(device, *port, seen, &now));
                *seen = now;
            }
        }
        lines
    }
}

fn look(root: &Root, device: &str, port: u32) -> Seen {
    let folder = format!("sys/class/infiniband/{device}");
    if !root.exists(&folder) {
        return Seen::Gone;
    }
    let text = root.text(format!("{folder}/ports/{port}/state")).ok();
    Seen::There(text.map(|text| text.rsplit(": ").next().unwrap_or_default().trim().to_owned()))
}

/// What a change means for clients.
fn in_words(device: &str, port: u32, then: &Seen, now: &Seen) -> Option<String> {
    Some(match (then, now) {
        (_, Seen::Gone) => format!(
            "{device}: the device is GONE (sysfs has it no more: removed, reset, or its driver unloaded); clients are \
             offered it all the same until `railscope serve` is started anew"
        ),
        (Seen::Gone, Seen::There(state)) => {
            format!(
                "{device}: the device is back, port {port} {}",
                state.as_deref().unwrap_or("in an unknown state")
            )
        }
        (Seen::There(then), Seen::There(Some(now))) if then.as_ref() != Some(now) => {
            format!("{device}: port {port} is {now}, was {}", then.as_deref().unwrap_or("unknown"))
        }
        // a port whose state cannot be read has not changed for all we know
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::Lookout;
    use crate::peer::fake;
    use probes::root::Root;

    #[test]
    fn a_rail_that_went_before_the_first_look_is_told_all_the_same() {
        let tree = tempfile::tempdir().unwrap();
        let mut lookout = Lookout::over(Root::at(tree.path()), &fake::end("n2", 2).offers);
        let said = lookout.look();
        assert!(said.len() == 2 && said.iter().all(|line| line.contains("is GONE")), "{said:?}");
        assert!(lookout.look().is_empty());
    }

    #[test]
    fn what_becomes_of_a_rail_is_told_once() {
        let tree = tempfile::tempdir().unwrap();
        let port = |device: &str| tree.path().join(format!("sys/class/infiniband/{device}/ports/1"));
        let set = |device: &str, state: &str| {
            std::fs::create_dir_all(port(device)).unwrap();
            std::fs::write(port(device).join("state"), state).unwrap();
        };
        set("mlx5_0", "4: ACTIVE");
        set("mlx5_1", "4: ACTIVE");
        let mut lookout = Lookout::over(Root::at(tree.path()), &fake::end("n2", 2).offers);
        assert!(lookout.look().is_empty());
        set("mlx5_0", "1: DOWN");
        std::fs::remove_dir_all(tree.path().join("sys/class/infiniband/mlx5_1")).unwrap();
        let said = lookout.look();
        assert_eq!(said[0], "mlx5_0: port 1 is DOWN, was ACTIVE");
        assert!(said[1].starts_with("mlx5_1: the device is GONE"), "{said:?}");
        assert!(lookout.look().is_empty());
        set("mlx5_1", "2: INIT");
        assert_eq!(lookout.look(), ["mlx5_1: the device is back, port 1 INIT"]);
        set("mlx5_1", "4: ACTIVE");
        assert_eq!(lookout.look(), ["mlx5_1: port 1 is ACTIVE, was INIT"]);
    }
}
