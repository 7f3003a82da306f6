//! The rule, case by case, and what holds for all inputs. Thousands of searches are in `simulate/tests.rs`.

use proptest::prelude::*;

use super::*;
use crate::judge::outcome::Outcome;
use crate::judge::sample::{Load, Sample, Side};
use crate::judge::statistics::t_quantile;

/// Noise of the emulated machine's order.
const EXACT: Noise = Noise { sigma_aa: 0.0005, relink: 0.0, quantum: 0.0 };

fn sample(total: f64) -> Sample {
    let load = Load { sent: 5_000, verified: 5_000, wrong: 0, lost: 0 };
    let user = (total / 3.0) as u64;
    Sample { seed: 1, user, kernel: total as u64 - user, load, side: Side::default() }
}

pub(in crate::judge) fn pair(d: f64) -> Pair {
    Pair { champion: sample(5e7), challenger: sample(5e7 * (-d).exp()) }
}

fn pairs(ds: &[f64]) -> Vec<Pair> {
    ds.iter().map(|d| pair(*d)).collect()
}

/// `n` pairs around `d` with exactly the meter's spread.
fn around(d: f64, n: usize) -> Vec<Pair> {
    (0..n).map(|i| pair(d + if i % 2 == 0 { 0.0004 } else { -0.0004 })).collect()
}

fn verdict(confirming: &Confirming) -> Option<Verdict> {
    match confirming {
        Confirming::More(_) => None,
        Confirming::Done(decision) => Some(decision.verdict),
    }
}

#[test]
fn each_verdict_is_given_where_its_line_of_the_table_says() {
    let rule = Rule::default();
    let t = |d, n, look| verdict(&confirm(&rule, &around(d, n), look, &EXACT));
    // Look 0: half the interval is 50 * 0.05% / sqrt(3), about 1.4%.
    assert_eq!(t(0.08, 3, 0), Some(Verdict::Promote));
    assert_eq!(t(0.035, 3, 0), None, "above the threshold, not yet for certain");
    assert_eq!(t(0.0, 3, 0), Some(Verdict::Reject));
    assert_eq!(t(-0.3, 3, 0), Some(Verdict::Reject));
    assert_eq!(t(0.005, 3, 0), None, "a small gain gets its other looks before it is given up");
    // Look 1: about 0.15%.
    assert_eq!(t(0.035, 6, 1), Some(Verdict::Promote));
    assert_eq!(t(0.01, 6, 1), Some(Verdict::Bank));
    assert_eq!(t(0.0295, 6, 1), None);
    // Look 2, the last: about 0.06%; the floor is 0.1%.
    assert_eq!(t(0.031, 12, 2), Some(Verdict::Promote));
    assert_eq!(t(0.0295, 12, 2), Some(Verdict::Bank), "real, and the threshold stays open: banked, never promoted");
    assert_eq!(t(0.0011, 12, 2), Some(Verdict::Reject), "a mean above the floor that is not proven to be");
    assert_eq!(t(0.0, 12, 2), Some(Verdict::Reject));
}

#[test]
fn what_the_last_look_cannot_settle_is_undecided_and_says_how_many_pairs_it_would_take() {
    let rule = Rule::default();
    let noisy = Noise::new(0.03, 0.0);
    let Confirming::Done(decision) =
        confirm(&rule, &pairs(&[0.03, 0.09, 0.06, 0.0, 0.06, 0.09, 0.03, 0.06, 0.06, 0.03, 0.09, 0.06]), 2, &noisy)
    else {
        panic!("the last look always decides");
    };
    assert_eq!(decision.verdict, Verdict::Undecided);
    let needed = pairs_needed(&rule, &decision.estimate).unwrap();
    let half = |n: usize| t_quantile(1.0 - rule.alpha(2), n - 1) * decision.estimate.s_eff / (n as f64).sqrt();
    let distance = decision.estimate.mean - rule.tau();
    assert!(half(needed) <= distance && half(needed - 1) > distance, "{needed} pairs");
    assert!(decision.note.contains(&format!("about {} more", needed - 12)), "{}", decision.note);
    assert_eq!(Outcome::from(decision).word(), "rejected");
}

#[test]
fn a_lucky_layout_is_no_gain() {
    let relinks = Noise { relink: 0.012, ..EXACT };
    assert_eq!(verdict(&confirm(&Rule::default(), &around(0.01, 12), 2, &relinks)), Some(Verdict::Reject));
    assert_eq!(verdict(&confirm(&Rule::default(), &around(0.01, 12), 2, &EXACT)), Some(Verdict::Bank));
}

#[test]
fn the_screen_only_ever_stops_and_what_it_saw_is_not_the_result() {
    let rule = Rule::default();
    let Screening::Confirm(screened) = screen(&rule, &around(0.3, 3), &EXACT) else { panic!("a large gain goes on") };
    let Screening::Stop(stopped) = screen(&rule, &around(0.0, 3), &EXACT) else { panic!("nothing stops here") };
    assert_eq!((stopped.verdict, stopped.screen), (Verdict::Reject, None));
    assert!(matches!(screen(&rule, &around(0.01, 3), &EXACT), Screening::Confirm(_)), "bankable: goes on");

    let Confirming::Done(decision) = confirm(&rule, &around(0.05, 3), 0, &EXACT) else { panic!("certain at once") };
    let decision = decision.after_screen(screened);
    assert!((decision.estimate.mean - 0.05).abs() < 0.001, "the confirm pairs' mean, not the screen's 0.3");
    assert_eq!(decision.screen, Some(screened));
}

#[test]
fn by_point_is_the_plain_rule_at_the_first_look() {
    let rule = Rule { by: By::Point, ..Rule::default() };
    for (d, expected) in
        [(0.0300, Verdict::Promote), (0.0290, Verdict::Bank), (0.0, Verdict::Reject), (-0.1, Verdict::Reject)]
    {
        assert_eq!(verdict(&confirm(&rule, &around(d, 3), 0, &EXACT)), Some(expected), "{d}");
    }
    // Wide open, and still a promotion: that is what the plain rule means.
    assert_eq!(verdict(&confirm(&rule, &pairs(&[0.0, 0.0, 0.12]), 0, &EXACT)), Some(Verdict::Promote));
}

#[test]
fn a_window_without_instructions_or_answers_is_unsound_and_never_a_gain() {
    let mut nothing = around(0.1, 3);
    nothing[1].challenger = Sample { user: 0, kernel: 0, ..nothing[1].challenger.clone() };
    let mut unanswered = around(0.1, 3);
    unanswered[2].champion.load = Load { sent: 5_000, verified: 0, wrong: 0, lost: 5_000 };
    for pairs in [nothing, unanswered] {
        let Confirming::Done(confirmed) = confirm(&Rule::default(), &pairs, 0, &EXACT) else {
            panic!("no more pairs for this")
        };
        let Screening::Stop(screened) = screen(&Rule::default(), &pairs, &EXACT) else { panic!("stops at the screen") };
        for decision in [confirmed, screened] {
            assert_eq!(Outcome::from(decision).word(), "unsound");
        }
    }
}

#[test]
fn the_default_rule_is_consistent() {
    for rule in [Rule::default(), Rule::default().for_noisy_meter()] {
        assert!((rule.split.iter().sum::<f64>() - 1.0).abs() < 1e-12);
        assert_eq!(rule.split.len(), rule.looks.len());
        assert!(rule.looks.windows(2).all(|two| two[0] < two[1]));
        assert_eq!(
            confirm(&rule, &around(0.04, rule.looks[0]), 0, &Noise::new(0.02, 0.0)),
            Confirming::More(rule.looks[1] - rule.looks[0])
        );
    }
}

proptest! {
    #[test]
    fn nothing_is_promoted_whose_bound_is_below_the_threshold(
        ds in prop::collection::vec(-0.2f64..0.2, 2..24), look in 0usize..3, sigma in 0.0f64..0.02, relink in 0.0f64..0.01,
    ) {
        let (rule, noise) = (Rule::default(), Noise::new(sigma, relink));
        if let Confirming::Done(decision) = confirm(&rule, &pairs(&ds), look, &noise) {
            let e = decision.estimate;
            match decision.verdict {
                Verdict::Promote => prop_assert!(e.lcb >= rule.tau()),
                Verdict::Bank => prop_assert!(e.lcb > e.floor && e.lcb < rule.tau()),
                Verdict::Reject => prop_assert!(e.lcb <= e.floor && e.ucb < rule.tau()),
                Verdict::Undecided => prop_assert!(look == 2 && e.lcb <= e.floor && e.ucb >= rule.tau()),
            }
        } else {
            prop_assert!(look < 2, "the last look decides");
        }
    }

    #[test]
    fn champion_and_challenger_never_both_beat_each_other(ds in prop::collection::vec(-0.2f64..0.2, 2..12), sigma in 0.0f64..0.02) {
        let there = pairs(&ds);
        let back: Vec<Pair> = there.iter().map(|p| Pair { champion: p.challenger.clone(), challenger: p.champion.clone() }).collect();
        let won = |pairs: &[Pair]| matches!(
            verdict(&confirm(&Rule::default(), pairs, 2, &Noise::new(sigma, 0.0))), Some(Verdict::Promote | Verdict::Bank));
        prop_assert!(!(won(&there) && won(&back)));
    }

    #[test]
    fn the_order_of_the_pairs_does_not_matter_and_a_uniform_gain_never_hurts(
        mut ds in prop::collection::vec(-0.1f64..0.1, 3..12), more in 0.001f64..0.2, look in 0usize..3,
    ) {
        let rank = |ds: &[f64]| match verdict(&confirm(&Rule::default(), &pairs(ds), look, &EXACT)) {
            Some(Verdict::Promote) => 3,
            Some(Verdict::Bank) => 2,
            None | Some(Verdict::Undecided) => 1,
            Some(Verdict::Reject) => 0,
        };
        let before = rank(&ds);
        let better: Vec<f64> = ds.iter().map(|d| d + more).collect();
        // A wide interval may be banked low and left open higher up; it is never rejected for being better.
        prop_assert!(rank(&better) >= before.min(1));
        prop_assert!(before < 3 || rank(&better) == 3);
        ds.sort_by(f64::total_cmp);
        prop_assert_eq!(rank(&ds), before);
    }

    #[test]
    fn any_counts_at_all_get_an_answer(
        counts in prop::collection::vec((0u64..1 << 60, 0u64..1 << 60, 0u64..10_000), 0..30), look in 0usize..5, sigma in prop::num::f64::ANY,
    ) {
        let sample = |(user, kernel, verified): (u64, u64, u64)| Sample {
            seed: 0, user, kernel, side: Side::default(), load: Load { sent: verified, verified, wrong: 0, lost: 0 },
        };
        let pairs: Vec<Pair> = counts.chunks_exact(2).map(|two| Pair { champion: sample(two[0]), challenger: sample(two[1]) }).collect();
        let noise = Noise::new(sigma, 0.0);
        let _ = screen(&Rule::default(), &pairs, &noise);
        if let Confirming::Done(decision) = confirm(&Rule::default(), &pairs, look, &noise) {
            prop_assert!(decision.verdict != Verdict::Promote || decision.estimate.lcb >= Rule::default().tau());
            prop_assert!(decision.note.len() < 400 && !decision.note.is_empty());
        }
    }
}

#[test]
fn only_the_stack_s_own_measurement_promotes_and_a_stack_that_does_not_pass_keeps_the_change_banked() {
    let rule = Rule::default();
    let decide = |d| match confirm(&rule, &around(d, 12), 2, &EXACT) {
        Confirming::Done(decision) => decision,
        Confirming::More(_) => panic!("the last look decides"),
    };
    let whole = stacked(&decide(0.01), decide(0.04), 3);
    assert_eq!(whole.verdict, Verdict::Promote);
    assert!((whole.estimate.mean - 0.04).abs() < 1e-6 && whole.note.contains("stack of 3"), "{whole:?}");
    // Large gains alone that are not there together: nothing is added up.
    for (own, stack) in [(0.02, 0.025), (0.05, 0.02), (0.02, -0.1), (0.02, f64::NAN)] {
        let kept = stacked(&decide(own), decide(stack), 2);
        assert_eq!(kept.verdict, Verdict::Bank, "{own} on a stack of {stack}");
        assert!((kept.estimate.mean - own).abs() < 1e-6, "its own gain is what it is recorded with: {kept:?}");
    }
}
