//! Noise that is equal in every run.

/// A small generator of pseudo-random numbers, splitmix64.
///
/// Source: Steele, Lea and Flood, "Fast Splittable Pseudorandom Number Generators", OOPSLA 2014.
#[derive(Clone, Debug)]
pub(super) struct Noise(u64);

impl Noise {
    /// Generators of one seed and different streams are independent.
    pub(super) fn new(seed: u64, stream: u64) -> Self {
        let mut mixed = Self(seed);
        let start = mixed.next();
        Self(start ^ stream.wrapping_mul(0xD6E8_FEB8_6659_FD93))
    }

    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// Between -1 and 1.
    pub(super) fn around_zero(&mut self) -> f64 {
        // 53 bits are what an f64 holds exactly
        (self.next() >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }
}

#[cfg(test)]
mod tests {
    use super::Noise;

    #[test]
    fn the_generator_gives_the_published_numbers() {
        let mut noise = Noise(1_234_567);
        assert_eq!(noise.next(), 6_457_827_717_110_365_317);
        assert_eq!(noise.next(), 3_203_168_211_198_807_973);
    }

    #[test]
    fn noise_is_between_minus_one_and_one_and_around_zero() {
        let mut noise = Noise::new(1, 2);
        let many: Vec<f64> = (0..10_000).map(|_| noise.around_zero()).collect();
        assert!(many.iter().all(|n| (-1.0..1.0).contains(n)));
        assert!((many.iter().sum::<f64>() / 10_000.0).abs() < 0.02);
    }
}
