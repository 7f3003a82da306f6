//! Where in a round each request goes: chains cut into pieces, pieces dealt to connections and rounds, singles
//! around them. It moves numbers only; what the requests are is not its business.

use crate::chance::Chance;

/// One request: which chain (or single), and which step of it.
pub type Place = (usize, usize);

/// The room: rounds, connections, requests a connection has in one round.
#[derive(Debug, Clone, Copy)]
pub struct Room {
    /// Rounds, each complete before the next.
    pub rounds: usize,
    /// Connections.
    pub connections: usize,
    /// Requests on a connection in a round.
    pub depth: usize,
}

/// Puts every step of every chain (`lengths` of them) into the room: steps of a chain that fall into one round are
/// on one connection in order, later ones on other connections in later rounds. The lengths must fill the room.
/// Cells come by round, then connection, then position.
///
/// A chain that finds no room where it is tried again from the first round on is shortened: the steps left over are
/// returned as missing, and the caller fills their places with singles. It takes a workload of a few requests a
/// connection to get there.
pub fn place(chance: &mut Chance, room: Room, lengths: &[usize]) -> Vec<Option<Place>> {
    let cells = room.rounds * room.connections;
    let mut pieces: Vec<Vec<(usize, usize, usize)>> = vec![Vec::new(); cells];
    let mut free = vec![room.depth; cells];
    for (chain, &length) in lengths.iter().enumerate().filter(|(_, length)| **length > 1) {
        let found = (0..50).find_map(|_| spread(chance, room, &free, length));
        for (cell, first, count) in found.unwrap_or_else(|| squeeze(room, &free, length)) {
            free[cell] -= count;
            pieces[cell].push((chain, first, count));
        }
    }
    let mut singles: Vec<usize> = (0..lengths.len()).filter(|&item| lengths[item] == 1).collect();
    chance.shuffle(&mut singles);
    let mut singles = singles.into_iter();
    let mut out = Vec::with_capacity(cells * room.depth);
    for (cell, mut pieces) in pieces.into_iter().enumerate() {
        // Which piece each position belongs to; the last label is that of singles.
        let mut labels: Vec<usize> =
            (pieces.iter().enumerate()).flat_map(|(label, piece)| vec![label; piece.2]).collect();
        labels.extend(vec![usize::MAX; free[cell]]);
        chance.shuffle(&mut labels);
        for label in labels {
            out.push(match pieces.get_mut(label) {
                Some(piece) => {
                    piece.1 += 1;
                    Some((piece.0, piece.1 - 1))
                }
                None => singles.next().map(|single| (single, 0)),
            });
        }
    }
    out
}

/// A random way for a chain: (cell, first step, steps), in rounds that follow each other.
fn spread(chance: &mut Chance, room: Room, free: &[usize], length: usize) -> Option<Vec<(usize, usize, usize)>> {
    let least = length.div_ceil(room.depth);
    let most = room.rounds.min(length).min(least.max(4));
    let parts = chance.between(least.min(most), most);
    let mut rounds: Vec<usize> = (0..room.rounds).collect();
    chance.shuffle(&mut rounds);
    rounds.truncate(parts);
    rounds.sort_unstable();
    let mut cuts: Vec<usize> = (1..length).collect();
    chance.shuffle(&mut cuts);
    cuts.truncate(parts - 1);
    cuts.push(length);
    cuts.sort_unstable();
    let mut way = Vec::with_capacity(parts);
    let (mut first, mut last) = (0, usize::MAX);
    for (round, cut) in rounds.into_iter().zip(cuts) {
        let connection = chance.below(room.connections);
        let cell = round * room.connections + connection;
        let same = connection == last && room.connections > 1;
        if same || free[cell] < cut - first {
            return None;
        }
        way.push((cell, first, cut - first));
        (first, last) = (cut, connection);
    }
    Some(way)
}

/// The first way that fits, as far as it fits.
fn squeeze(room: Room, free: &[usize], length: usize) -> Vec<(usize, usize, usize)> {
    let mut way = Vec::new();
    let mut first = 0;
    for round in 0..room.rounds {
        let cells = round * room.connections..(round + 1) * room.connections;
        let cell = cells.max_by_key(|&cell| free[cell]).expect("there are connections");
        let count = free[cell].min(length - first);
        if count > 0 {
            way.push((cell, first, count));
            first += count;
        }
    }
    way
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_stay_in_order_and_a_round_sees_a_chain_on_one_connection_only() {
        let room = Room { rounds: 5, connections: 8, depth: 4 };
        let mut lengths = vec![8; 6];
        lengths.extend(vec![1; 160 - 48]);
        for seed in 0..50 {
            let out = place(&mut Chance::new(seed, "place"), room, &lengths);
            assert_eq!(out.len(), 160);
            for chain in 0..6 {
                let found: Vec<_> = (out.iter().enumerate())
                    .filter(|(_, place)| place.is_some_and(|place| place.0 == chain))
                    .map(|(at, place)| (at / 32, at / 4 % 8, place.unwrap().1))
                    .collect();
                let steps: Vec<_> = found.iter().map(|found| found.2).collect();
                assert_eq!(steps, (0..8).collect::<Vec<_>>());
                for pair in found.windows(2) {
                    assert!(pair[0].0 != pair[1].0 || pair[0].1 == pair[1].1);
                }
            }
            let mut singles: Vec<_> = out.iter().flatten().map(|place| place.0).filter(|item| *item >= 6).collect();
            singles.sort_unstable();
            assert_eq!(singles, (6..118).collect::<Vec<_>>());
        }
    }
}
