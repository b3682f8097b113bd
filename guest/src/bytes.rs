//! Compares bytes, many at a time: the comparison of the standard library goes byte by byte on wasm.

/// Whether two texts are equal.
#[inline]
pub fn equal(a: &[u8], b: &[u8]) -> bool {
    // Texts of one length that begin alike mostly differ at their ends.
    a.len() == b.len()
        && match (a.last_chunk::<8>(), b.last_chunk::<8>()) {
            (Some(a_end), Some(b_end)) => differing_bits(a_end, b_end) == 0 && words_are_equal(a, b),
            _ => a == b,
        }
}

/// Whether two texts of one length are equal but for what is behind their last whole words.
fn words_are_equal(a: &[u8], b: &[u8]) -> bool {
    let (a, a_rest) = a.as_chunks::<256>();
    let (b, b_rest) = b.as_chunks::<256>();
    let (a_words, _) = a_rest.as_chunks::<8>();
    let (b_words, _) = b_rest.as_chunks::<8>();
    a.iter().zip(b).all(|(a, b)| differing_bits(a, b) == 0)
        && a_words.iter().zip(b_words).all(|(a, b)| differing_bits(a, b) == 0)
}

/// The bits that differ anywhere, laid upon each other; the compiler makes SIMD of it.
fn differing_bits<const N: usize>(a: &[u8; N], b: &[u8; N]) -> u64 {
    let (a, _) = a.as_chunks::<8>();
    let (b, _) = b.as_chunks::<8>();
    a.iter().zip(b).fold(0, |bits, (a, b)| bits | (u64::from_le_bytes(*a) ^ u64::from_le_bytes(*b)))
}

#[cfg(test)]
mod tests {
    use super::equal;

    #[test]
    fn equal_looks_at_every_byte() {
        for length in (0..70).chain(250..330).chain(510..525) {
            let bytes = vec![7; length];
            assert!(equal(&bytes, &bytes.clone()));
            for place in 0..length {
                let mut other = bytes.clone();
                if let Some(byte) = other.get_mut(place) {
                    *byte = 8;
                }
                assert!(!equal(&bytes, &other), "{length} {place}");
            }
        }
    }
}
