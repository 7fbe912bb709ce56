//! Places of a server's clients: how many there are, who has one, and how much memory each needs.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::time::Instant;

/// The places of a server; copies mean the same ones.
#[derive(Clone, Debug)]
pub(super) struct Seats {
    guests: Arc<Mutex<Guests>>,
    most: usize,
}

#[derive(Debug, Default)]
struct Guests {
    next: u64,
    here: Vec<Guest>,
}

/// A client that is being served.
#[derive(Debug)]
struct Guest {
    number: u64,
    name: String,
    since: Instant,
    bytes: u64,
}

/// The place of one client, free again when this is dropped.
#[derive(Debug)]
pub(super) struct Seat {
    guests: Arc<Mutex<Guests>>,
    number: u64,
}

/// Those who have all places: their names, and how long the first of them has been there, seconds.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Full {
    pub(super) with: String,
    pub(super) for_s: u64,
}

impl Seats {
    /// So many places, at least one.
    pub(super) fn new(most: usize) -> Self {
        Self { guests: Arc::default(), most: most.max(1) }
    }

    /// A place for a client.
    ///
    /// # Errors
    ///
    /// Others have them all.
    pub(super) fn take(&self, name: &str) -> Result<Seat, Full> {
        let mut guests = lock(&self.guests);
        if guests.here.len() >= self.most {
            let names: Vec<&str> = guests.here.iter().map(|guest| guest.name.as_str()).collect();
            let for_s = guests.here.first().map_or(0, |guest| guest.since.elapsed().as_secs());
            return Err(Full { with: names.join(", "), for_s });
        }
        let number = guests.next;
        guests.next += 1;
        guests.here.push(Guest { number, name: name.to_owned(), since: Instant::now(), bytes: 0 });
        Ok(Seat { guests: self.guests.clone(), number })
    }
}

impl Seat {
    /// Claims memory for this client, unless all clients together would need more than half of what there is;
    /// `None` is unknown, and never too little.
    ///
    /// # Errors
    ///
    /// In words: how much all need.
    pub(super) fn claim(&self, bytes: u64, there_are_bytes: Option<u64>) -> Result<(), String> {
        let mut guests = lock(&self.guests);
        let others = guests.here.iter().filter(|guest| guest.number != self.number);
        let others = others.fold(0_u64, |sum, guest| sum.saturating_add(guest.bytes));
        if let Some(host) = there_are_bytes
            && others > 0
            && others.saturating_add(bytes) > host / 2
        {
            let gb = |bytes: u64| bytes as f64 / 1e9;
            return Err(format!(
                "its buffers of {:.1} GB and the {:.1} GB of other clients are more than half of the {:.1} GB \
                 there are: ask for less, or try again when they are done",
                gb(bytes),
                gb(others),
                gb(host)
            ));
        }
        for guest in guests.here.iter_mut().filter(|guest| guest.number == self.number) {
            guest.bytes = bytes;
        }
        Ok(())
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        lock(&self.guests).here.retain(|guest| guest.number != self.number);
    }
}

fn lock(guests: &Mutex<Guests>) -> MutexGuard<'_, Guests> {
    guests.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::{Full, Seats};

    #[test]
    fn a_place_is_free_again_when_its_client_goes() {
        let seats = Seats::new(2);
        let [first, _second] = [seats.take("n1").unwrap(), seats.take("n2").unwrap()];
        assert_eq!(seats.take("n3").unwrap_err(), Full { with: "n1, n2".to_owned(), for_s: 0 });
        drop(first);
        let _third = seats.take("n3").unwrap();
        assert_eq!(seats.take("n4").unwrap_err().with, "n2, n3");
    }

    #[test]
    fn the_memory_of_all_clients_counts() {
        let seats = Seats::new(3);
        let [first, second] = [seats.take("n1").unwrap(), seats.take("n2").unwrap()];
        first.claim(4 << 30, Some(16 << 30)).unwrap();
        let said = second.claim(5 << 30, Some(16 << 30)).unwrap_err();
        assert!(
            said.starts_with("its buffers of 5.4 GB and the 4.3 GB of other clients are more than half"),
            "{said}"
        );
        second.claim(5 << 30, None).unwrap();
        drop(second);
        seats.take("n3").unwrap().claim(4 << 30, Some(16 << 30)).unwrap();
    }
}
