//! Making a plan: the fixed multiset of kinds, drawn, placed, spelled, and answered by the oracle.

use super::Plan;
use super::ask::Ask;
use super::closing::close;
use super::draw::Draw;
use super::place::{Room, place};
use super::wire::Writer;
use crate::chance::{Chance, Deck};
use crate::dataset::DataSet;
use crate::model::Model;
use crate::workload::{Kind, Schedule, Workload};

impl Plan {
    /// The plan of a seed on its data. The workload must be valid and the data made for it.
    pub fn make(seed: u64, workload: &Workload, data: &DataSet) -> Plan {
        let mut draw = Draw::new(seed, data);
        let mut chance = Chance::new(seed, "spelling");
        let mut writer = Writer::default();
        let mut model = Model::new(data);
        let mut plan = Plan::empty(seed, workload);
        let mut closing = (Chance::new(seed, "closing"), Deck::once_in(2));
        for requests in [workload.warmup, workload.requests] {
            let room = room(workload, requests);
            for ask in asks(&mut draw, &mut chance, room, workload, requests) {
                let mut request = writer.write(&mut chance, &ask);
                let mut answer = model.answer(&ask.meaning);
                if workload.schedule == Schedule::Churn && closing.1.deal(&mut closing.0) {
                    close(&mut request, &mut answer);
                }
                plan.push(ask.kind, &request, &answer);
            }
            plan.warmup_rounds = plan.rounds.len();
            plan.rounds.extend(vec![room.depth; room.rounds]);
        }
        plan
    }

    /// A plan without requests.
    pub(super) fn empty(seed: u64, workload: &Workload) -> Plan {
        Plan {
            seed,
            connections: workload.connections as usize,
            pipelining: workload.pipelining as usize,
            schedule: workload.schedule,
            rounds: Vec::new(),
            warmup_rounds: 0,
            kinds: Vec::new(),
            request_ends: Vec::new(),
            answer_ends: Vec::new(),
            requests: Vec::new(),
            answers: Vec::new(),
            blanks: false,
        }
    }

    /// Appends a request; their order is that of the cells, by round, connection and position.
    pub(super) fn push(&mut self, kind: Kind, request: &[u8], answer: &[u8]) {
        self.kinds.push(kind);
        self.requests.extend_from_slice(request);
        self.answers.extend_from_slice(answer);
        self.request_ends.push(self.requests.len() as u32);
        self.answer_ends.push(self.answers.len() as u32);
    }
}

fn room(workload: &Workload, requests: u32) -> Room {
    let share = workload.share(requests) as usize;
    let (rounds, depth) = match workload.schedule {
        Schedule::Waves => (share / workload.pipelining as usize, workload.pipelining as usize),
        Schedule::ClosedLoop | Schedule::Churn => (usize::from(share > 0), share),
    };
    Room { rounds, connections: workload.connections as usize, depth }
}

/// All requests of a part of the plan, in the order of their places.
fn asks(draw: &mut Draw, chance: &mut Chance, room: Room, workload: &Workload, requests: u32) -> Vec<Ask> {
    let mut items = Vec::new();
    for (kind, count) in workload.counts(requests) {
        items.extend((0..count).map(|_| draw.chain(kind).into_iter().map(Some).collect::<Vec<_>>()));
    }
    let lengths: Vec<usize> = items.iter().map(Vec::len).collect();
    place(chance, room, &lengths)
        .into_iter()
        .map(|place| match place {
            Some((item, step)) => items[item][step].take().expect("each step has one place"),
            None => draw.single(Kind::Get),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::{BTreeMap, HashSet};

    fn plan(seed: u64, workload: &Workload) -> Plan {
        workload.validate().unwrap();
        Plan::make(seed, workload, &DataSet::generate(seed, workload))
    }

    fn status(plan: &Plan, index: usize) -> &str {
        std::str::from_utf8(&plan.answers()[plan.answer(index)][9..12]).unwrap()
    }

    #[test]
    fn the_same_seed_gives_the_same_plan_and_another_gives_fresh_secrets() {
        let workload = Workload::default();
        let (first, again, other) = (plan(5, &workload), plan(5, &workload), plan(6, &workload));
        assert_eq!(first.encode(), again.encode());
        let texts =
            |plan: &Plan| (0..plan.len()).map(|i| plan.requests()[plan.request(i)].to_vec()).collect::<HashSet<_>>();
        assert_eq!(texts(&first).intersection(&texts(&other)).count(), 0);
        assert_eq!(texts(&first).len(), first.len(), "no request comes twice");
    }

    #[test]
    fn every_seed_has_the_same_kinds_in_its_window_and_nearly_the_same_size() {
        let workload = Workload::default();
        let mut kinds_seen = HashSet::new();
        let mut sizes = Vec::new();
        for seed in 0..6 {
            let plan = plan(seed, &workload);
            let window = workload.warmup as usize..plan.len();
            let mut kinds = BTreeMap::new();
            for index in window.clone() {
                *kinds.entry(plan.kind(index)).or_insert(0) += 1;
            }
            kinds_seen.insert(kinds);
            sizes.push(window.map(|index| plan.request(index).len()).sum::<usize>() as f64);
        }
        assert_eq!(kinds_seen.len(), 1);
        let (low, high) = sizes.iter().fold((f64::MAX, 0f64), |(low, high), &size| (low.min(size), high.max(size)));
        assert!(high / low < 1.01, "{sizes:?}");
    }

    #[test]
    fn each_kind_gets_the_answers_it_is_made_for() {
        let workload = Workload::default();
        let mut seen: BTreeMap<Kind, BTreeMap<String, usize>> = BTreeMap::new();
        for seed in 0..4 {
            let plan = plan(seed, &workload);
            for index in 0..plan.len() {
                let count = seen.entry(plan.kind(index)).or_default().entry(status(&plan, index).to_string());
                *count.or_default() += 1;
            }
        }
        let only = |kind: Kind| seen[&kind].keys().cloned().collect::<Vec<_>>().join(" ");
        for (kind, answers) in [
            (Kind::Get, "200"),
            (Kind::GetNoRecord, "200"),
            (Kind::GetOtherCountry, "403"),
            (Kind::GetForged, "403"),
            (Kind::GetOtherAlgorithm, "403"),
            (Kind::GetExpired, "403"),
            (Kind::GetNoToken, "403"),
            (Kind::GetUnknown, "403"),
            (Kind::GetNoAddress, "403"),
            (Kind::Head, "200 403"),
            (Kind::Auth, "200"),
            (Kind::AuthWrongPassword, "403"),
            (Kind::AuthUnknown, "403"),
            (Kind::AuthOtherCountry, "403"),
            (Kind::AuthBadBody, "400"),
            (Kind::PutBadBody, "400"),
            (Kind::PutTaken, "409"),
            (Kind::PutOtherCountry, "403"),
            (Kind::PatchBadBody, "400"),
            (Kind::PatchRefused, "403"),
            (Kind::NotAdmin, "403"),
            (Kind::BadSubnet, "400"),
            (Kind::Absent, "404"),
            (Kind::Nowhere, "404"),
            (Kind::BadMethod, "405"),
            (Kind::Life, "200 201 202 403 409"),
            (Kind::Block, "200 201 204 403 404 409"),
            (Kind::Subnet, "200 201 204 403 404 409"),
            (Kind::Moving, "200 202 403"),
        ] {
            assert_eq!(only(kind), answers, "{kind:?}");
        }
    }

    #[test]
    fn no_answer_depends_on_the_order_in_which_connections_are_taken() {
        for schedule in [Schedule::Waves, Schedule::ClosedLoop] {
            let workload = Workload { schedule, ..Workload::default() };
            let data = DataSet::generate(9, &workload);
            let mut draw = Draw::new(9, &data);
            let mut chance = Chance::new(9, "order");
            let room = room(&workload, workload.requests);
            let asks = asks(&mut draw, &mut chance, room, &workload, workload.requests);
            let mut model = Model::new(&data);
            let right: Vec<_> = asks.iter().map(|ask| model.answer(&ask.meaning)).collect();
            for _ in 0..3 {
                let mut model = Model::new(&data);
                for round in 0..room.rounds {
                    // Requests of a round in a random order that keeps each connection's own.
                    let mut next = vec![0; room.connections];
                    let mut turns: Vec<_> = (0..room.connections).flat_map(|c| vec![c; room.depth]).collect();
                    chance.shuffle(&mut turns);
                    for turn in turns {
                        let index = (round * room.connections + turn) * room.depth + next[turn];
                        next[turn] += 1;
                        assert_eq!(model.answer(&asks[index].meaning), right[index], "{:?}", asks[index]);
                    }
                }
            }
        }
    }

    #[test]
    fn small_and_odd_workloads_make_plans_too() {
        for (connections, pipelining, requests, warmup) in
            [(1, 1, 40, 0), (64, 1, 128, 64), (3, 5, 300, 15), (1, 512, 1024, 512)]
        {
            for schedule in [Schedule::Waves, Schedule::ClosedLoop] {
                let workload = Workload {
                    connections,
                    pipelining,
                    requests,
                    warmup,
                    schedule,
                    users: 300,
                    networks: 200,
                    ..Workload::default()
                };
                let plan = plan(2, &workload);
                assert_eq!(plan.len(), (requests + warmup) as usize);
                assert_eq!(plan.rounds.iter().sum::<usize>() * connections as usize, plan.len());
            }
        }
    }

    #[test]
    fn a_plan_survives_its_encoding_and_a_damaged_one_is_refused() {
        let plan = plan(1, &Workload::default());
        let mut bytes = plan.encode();
        assert_eq!(Plan::decode(&bytes).unwrap(), plan);
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        assert!(Plan::decode(&bytes).unwrap_err().to_string().contains("damaged"));
        assert!(Plan::decode(&bytes[..20]).is_err());
        assert!(Plan::decode(b"LGPLAN01").is_err());
        assert!(Plan::decode(b"").is_err());
    }
}
