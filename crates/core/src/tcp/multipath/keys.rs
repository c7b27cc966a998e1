//! Keys of a connection over several paths, and what follows from them: RFC 8684 (3.1), (3.2).
//!
//! The token of a key is the most significant 32 bits of its SHA-256, and the number before the first byte of data its
//! least significant 64 bits. ASSUMED: both endpoints know both keys from the start, since nothing in a simulation can
//! refuse the option; segments of the handshake carry them for captures.

use crate::rng;

/// Both keys of a connection, and the random numbers of its subflows.
#[derive(Clone, Debug)]
pub struct Keys {
    /// Key of the endpoint that opens the connection.
    pub client: u64,
    /// Key of the other endpoint.
    pub server: u64,
    /// Random numbers of each subflow, the client's first.
    nonces: Vec<[u32; 2]>,
}

impl Keys {
    /// The keys of a connection of `subflows` subflows, from a stream of its own.
    pub fn new(mut stream: rng::Stream, subflows: usize) -> Self {
        let (client, server) = (stream.next_u64(), stream.next_u64());
        let mut nonce = || stream.next_u64() as u32;
        Self { client, server, nonces: (0..subflows).map(|_| [nonce(), nonce()]).collect() }
    }

    /// The client's and the server's random number in the handshake of a subflow.
    pub fn nonces(&self, subflow: usize) -> [u32; 2] {
        self.nonces[subflow]
    }

    /// The client's authentication code for a subflow: the leftmost 160 bits.
    pub fn client_code(&self, subflow: usize) -> [u8; 20] {
        let [client, server] = self.nonces[subflow];
        let code = hmac(&both(self.client, self.server), &words(client, server));
        std::array::from_fn(|at| code[at])
    }

    /// The server's authentication code for a subflow: the leftmost 64 bits.
    pub fn server_code(&self, subflow: usize) -> u64 {
        let [client, server] = self.nonces[subflow];
        first_8(&hmac(&both(self.server, self.client), &words(server, client)))
    }
}

/// Names a connection to the owner of this key.
pub fn token(key: u64) -> u32 {
    (first_8(&sha256(&key.to_be_bytes())) >> 32) as u32
}

/// Data sequence number of the first byte of the owner of this key.
pub fn first_data(key: u64) -> u64 {
    first_8(&sha256(&key.to_be_bytes())[24..]).wrapping_add(1)
}

fn both(one: u64, other: u64) -> [u8; 16] {
    (u128::from(one) << 64 | u128::from(other)).to_be_bytes()
}

fn words(one: u32, other: u32) -> [u8; 8] {
    (u64::from(one) << 32 | u64::from(other)).to_be_bytes()
}

fn first_8(bytes: &[u8]) -> u64 {
    bytes.iter().take(8).fold(0, |number, byte| number << 8 | u64::from(*byte))
}

/// RFC 2104 with SHA-256, for keys of at most one block.
fn hmac(key: &[u8], message: &[u8]) -> [u8; 32] {
    let padded = |pad: u8| -> Vec<u8> { (0..64).map(|at| key.get(at).copied().unwrap_or(0) ^ pad).collect() };
    let inner = sha256(&[&padded(0x36), message].concat());
    sha256(&[&padded(0x5c)[..], &inner].concat())
}

/// First 32 bits of the fractional parts of the cube roots of the first 64 primes: FIPS 180-4 (4.2.2).
const K: [u32; 64] = [
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
];
/// The same of the square roots of the first eight primes: FIPS 180-4 (5.3.3).
const H: [u32; 8] =
    [0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19];

/// SHA-256: FIPS 180-4 (5.1.1), (6.2).
fn sha256(message: &[u8]) -> [u8; 32] {
    let mut padded = message.to_vec();
    padded.push(0x80);
    padded.resize((message.len() + 9).next_multiple_of(64) - 8, 0);
    padded.extend_from_slice(&(8 * message.len() as u64).to_be_bytes());
    let mut state = H;
    for block in padded.chunks_exact(64) {
        let mut w = [0_u32; 64];
        for (word, bytes) in w.iter_mut().zip(block.chunks_exact(4)) {
            *word = bytes.iter().fold(0, |high, byte| high << 8 | u32::from(*byte));
        }
        for t in 16..64 {
            let (near, far) = (w[t - 2], w[t - 15]);
            let low = far.rotate_right(7) ^ far.rotate_right(18) ^ far >> 3;
            let high = near.rotate_right(17) ^ near.rotate_right(19) ^ near >> 10;
            w[t] = w[t - 16].wrapping_add(low).wrapping_add(w[t - 7]).wrapping_add(high);
        }
        let [mut a, mut b, mut c, mut d, mut e, mut f, mut g, mut h] = state;
        for (constant, scheduled) in K.iter().zip(w) {
            let mixed_e = e.rotate_right(6) ^ e.rotate_right(11) ^ e.rotate_right(25);
            let choice = e & f ^ !e & g;
            let one =
                h.wrapping_add(mixed_e).wrapping_add(choice).wrapping_add(*constant).wrapping_add(scheduled);
            let mixed_a = a.rotate_right(2) ^ a.rotate_right(13) ^ a.rotate_right(22);
            let two = mixed_a.wrapping_add(a & b ^ a & c ^ b & c);
            (h, g, f, e, d, c, b, a) = (g, f, e, d.wrapping_add(one), c, b, a, one.wrapping_add(two));
        }
        for (sum, part) in state.iter_mut().zip([a, b, c, d, e, f, g, h]) {
            *sum = sum.wrapping_add(part);
        }
    }
    let mut digest = [0; 32];
    for (bytes, word) in digest.chunks_exact_mut(4).zip(state) {
        bytes.copy_from_slice(&word.to_be_bytes());
    }
    digest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hex(bytes: &[u8]) -> String {
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    #[test]
    fn digests_are_those_of_the_standards() {
        // FIPS 180-2 appendix B, RFC 4231 (4.3).
        assert_eq!(hex(&sha256(b"abc")[..8]), "ba7816bf8f01cfea");
        let two_blocks = sha256(b"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq");
        assert_eq!(hex(&two_blocks[..8]), "248d6a61d20638b8");
        let code = hmac(b"Jefe", b"what do ya want for nothing?");
        assert_eq!(hex(&code[..8]), "5bdcc146bf60754e");
    }

    #[test]
    fn each_endpoint_has_a_code_of_its_own() {
        let keys = Keys::new(rng::stream(1, "keys"), 2);
        assert_ne!(keys.client, keys.server);
        assert_ne!(keys.client_code(0), keys.client_code(1));
        assert_ne!(first_8(&keys.client_code(1)), keys.server_code(1));
    }
}
