//! A plan of quiet rounds and rounds under attack by turns, so that both are seen on one server in one run.
//!
//! In a quiet round every request is one that is answered. In a round under attack nine in ten are refused: half of
//! those come from blocked subnets, with good tokens, half carry forged tokens; no two come from one address on
//! purpose. The blocking itself is done by an admin in the first round.

use super::Plan;
use super::ask::Ask;
use super::draw::{Draw, Sender};
use super::pool::Part;
use super::wire::Writer;
use crate::chance::{Chance, Deck};
use crate::dataset::DataSet;
use crate::model::Model;
use crate::workload::{Kind, Workload};

/// Quiet rounds of the window, and as many under attack.
const PAIRS: usize = 12;
/// Rounds before the window: the blocking, and one of each.
const WARMUP: usize = 3;
/// Subnets an admin blocks.
const SUBNETS: usize = 256;
/// Length of a blocked subnet: its 4096 addresses are the part of one owner.
const LENGTH: u8 = 20;

/// What a round of such a plan is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    /// Every request is answered.
    Quiet,
    /// Nine in ten are refused.
    Attack,
}

impl Plan {
    /// The plan of an attack: of the workload it takes connections, pipelining and requests, not the mix.
    pub fn attack(seed: u64, workload: &Workload, data: &DataSet) -> Result<Plan, String> {
        let connections = workload.connections as usize;
        let step = 2 * PAIRS * connections;
        let depth = workload.requests as usize / step;
        if depth == 0 || !(workload.requests as usize).is_multiple_of(step) {
            let near = depth.max(1) * step;
            return Err(format!(
                "requests is {}: {} rounds over {connections} connections need a multiple of {step}, such as {near}",
                workload.requests,
                2 * PAIRS
            ));
        }
        let mut plan = Plan::empty(seed, workload);
        let mut attack = Attack::new(seed, data, SUBNETS.min(connections));
        plan.rounds = vec![depth; WARMUP + 2 * PAIRS];
        plan.rounds[0] = 1;
        plan.warmup_rounds = WARMUP;
        for connection in 0..connections {
            let ask = attack.blocking(connection).unwrap_or_else(|| attack.answered());
            attack.append(&mut plan, &ask);
        }
        for round in 1..plan.rounds.len() {
            for _ in 0..connections * depth {
                let ask = match Phase::of(&plan, round) {
                    Some(Phase::Attack) => attack.mixed(),
                    _ => attack.answered(),
                };
                attack.append(&mut plan, &ask);
            }
        }
        Ok(plan)
    }
}

impl Phase {
    /// Which of the two a round of [`Plan::attack`] is; the first is neither. Pairs change their order, so that
    /// what grows or tires in time meets both alike.
    pub fn of(plan: &Plan, round: usize) -> Option<Phase> {
        match round.checked_sub(1)? % 4 {
            _ if round >= plan.rounds.len() => None,
            0 | 3 => Some(Phase::Quiet),
            _ => Some(Phase::Attack),
        }
    }
}

struct Attack {
    draw: Draw,
    chance: Chance,
    writer: Writer,
    model: Model,
    blocked: Vec<Part>,
    answered: Deck<bool>,
    from_blocked: Deck<bool>,
}

impl Attack {
    fn new(seed: u64, data: &DataSet, subnets: usize) -> Attack {
        let mut draw = Draw::new(seed, data);
        Attack {
            chance: Chance::new(seed, "spelling"),
            writer: Writer::default(),
            model: Model::new(data),
            blocked: (0..subnets).map(|_| draw.pool.part(&mut draw.chance)).collect(),
            answered: Deck::once_in(10),
            from_blocked: Deck::once_in(2),
            draw,
        }
    }

    fn append(&mut self, plan: &mut Plan, ask: &Ask) {
        let request = self.writer.write(&mut self.chance, ask);
        plan.push(ask.kind, &request, &self.model.answer(&ask.meaning));
    }

    /// The admin's call for the subnet of that number, if there is one.
    fn blocking(&mut self, number: usize) -> Option<Ask> {
        let subnet = (self.blocked.get(number)?.base, LENGTH);
        let admin = self.draw.as_admin();
        Some(self.draw.about_subnet(Kind::Subnet, true, admin, subnet))
    }

    fn answered(&mut self) -> Ask {
        self.draw.single(Kind::Get)
    }

    /// A request of a round under attack.
    fn mixed(&mut self) -> Ask {
        let draw = &mut self.draw;
        if self.answered.deal(&mut draw.chance) {
            return draw.single(Kind::Get);
        }
        if self.from_blocked.deal(&mut draw.chance) {
            let part = draw.chance.pick(&self.blocked).clone();
            let address = part.base | draw.chance.below(1 << (32 - LENGTH)) as u32;
            let visitor = draw.pool.visitor(&mut draw.chance, &part);
            let sender = Sender::at(address).proving(draw, &visitor.login);
            return draw.get(Kind::Subnet, "GET", sender);
        }
        let (user, other) = (draw.pool.user(&mut draw.chance), draw.pool.admin(&mut draw.chance));
        let key = draw.tokens.forged(&mut draw.chance, &user.login, &other.login);
        let address = draw.pool.bare(&mut draw.chance);
        draw.get(Kind::GetForged, "GET", Sender::at(address).with_bad(vec![key]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::{BTreeMap, HashSet};

    fn plan(requests: u32) -> Result<Plan, String> {
        let workload = Workload { connections: 8, requests, warmup: 0, users: 200, ..Workload::default() };
        Plan::attack(3, &workload, &DataSet::generate(3, &workload))
    }

    #[test]
    fn nine_in_ten_are_refused_under_attack_and_none_in_quiet() {
        let plan = plan(24 * 8 * 20).unwrap();
        let mut statuses: BTreeMap<(Phase, &[u8]), usize> = BTreeMap::new();
        for index in 0..plan.len() {
            if let Some(phase) = Phase::of(&plan, plan.place(index).0) {
                *statuses.entry((phase, &plan.answers()[plan.answer(index)][9..12])).or_default() += 1;
            }
        }
        let each = 13 * 8 * 20;
        assert_eq!(
            statuses,
            BTreeMap::from([
                ((Phase::Quiet, &b"200"[..]), each),
                ((Phase::Attack, b"200"), each / 10),
                ((Phase::Attack, b"403"), each / 10 * 9),
            ])
        );
        let blocking = plan.cell(0, 0).start;
        assert_eq!(&plan.answers()[plan.answer(blocking)][9..12], b"201");
    }

    #[test]
    fn addresses_change_all_the_time_and_both_ways_to_be_refused_are_there() {
        let plan = plan(24 * 8 * 20).unwrap();
        let mut addresses: BTreeMap<Kind, HashSet<&[u8]>> = BTreeMap::new();
        for index in plan.cell(1, 0).start..plan.len() {
            let request = &plan.requests()[plan.request(index)];
            let at = request.to_ascii_lowercase().windows(16).position(|name| name == b"x-forwarded-for:").unwrap();
            let value = request[at + 16..].split(|byte| *byte == b'\r').next().unwrap().trim_ascii();
            addresses.entry(plan.kind(index)).or_default().insert(value);
        }
        let refused = 13 * 8 * 20 / 20 * 9;
        for kind in [Kind::GetForged, Kind::Subnet] {
            assert!(addresses[&kind].len() * 20 > refused / 20 * 18, "{kind:?}: {}", addresses[&kind].len());
        }
    }

    #[test]
    fn requests_that_do_not_fill_the_rounds_are_refused_with_a_number_that_does() {
        let error = plan(1000).unwrap_err();
        assert!(error.contains("multiple of 192"), "{error}");
    }
}
