//! What the rule does over thousands of simulated searches: promotes no luck, finds what is there. `harness simulate`
//! runs more of them and prints the figures.

use super::*;
use crate::judge::decide::By;

fn tally(rule: &Rule, noise: f64, gain: f64, attempts: usize) -> Tally {
    run_of(rule, &mut Meter::new(noise, 0xA11CE), from_score_gain(gain), attempts)
}

#[test]
fn fifty_searches_of_three_hundred_null_changes_promote_and_bank_none_at_any_noise() {
    for noise in [0.0, 0.001, 0.005, 0.01, 0.02] {
        for rule in [Rule::default(), Rule::default().for_noisy_meter()] {
            let tally = tally(&rule, noise, 0.0, 50 * 300);
            assert_eq!((tally.promoted, tally.banked), (0, 0), "noise {noise}");
        }
    }
}

#[test]
fn a_calibration_that_claims_too_little_is_made_good_by_the_pairs_own_spread() {
    let mut meter = Meter::new(0.02, 1).taken_for(Noise::new(0.0, 0.0));
    assert_eq!(run_of(&Rule::default(), &mut meter, 0.0, 50 * 300).promoted, 0);
}

#[test]
fn the_plain_rule_promotes_luck_where_the_interval_does_not() {
    let plain = Rule { by: By::Point, ..Rule::default() };
    let lucky = tally(&plain, 0.02, 0.0, 3_000).promoted;
    assert!(lucky > 3, "{lucky} of 3000: this test must see what it guards against");
    assert_eq!(tally(&Rule::default(), 0.02, 0.0, 3_000).promoted, 0);
}

#[test]
fn a_true_gain_of_five_percent_is_found() {
    let noisy = || Rule::default().for_noisy_meter();
    for (rule, noise, at_least) in [
        (Rule::default(), 0.0, 500),
        (Rule::default(), 0.0005, 500),
        (Rule::default(), 0.001, 500),
        (noisy(), 0.005, 500),
        (noisy(), 0.01, 400),
    ] {
        let found = tally(&rule, noise, 0.05, 500);
        assert!(found.promoted >= at_least, "noise {noise}: {found:?}");
        assert!(found.pairs >= 500 * (rule.screen_pairs + rule.looks[0]), "{found:?}");
    }
}

#[test]
fn a_true_gain_of_half_a_percent_is_banked_and_never_promoted() {
    let tally = tally(&Rule::default(), 0.0003, 0.005, 500);
    assert!(tally.banked >= 490 && tally.promoted == 0, "{tally:?}");
}

#[test]
fn one_draw_against_a_fixed_threshold_promotes_luck_more_often_the_noisier_it_is() {
    let runs = |naive, noise| -> f64 {
        let climbs = (0..50).map(|seed| climb(naive, &mut Meter::new(noise, seed), Rule::default().tau(), 300));
        climbs.map(|climb| climb.promoted).sum::<usize>() as f64 / 50.0
    };
    // By the normal distribution: P(d > 2.956%) of a d that varies by 1.414% is 1.83%, by 2.828% it is 14.8%.
    assert!((4.5..6.5).contains(&runs(Naive::OnePair, 0.01)), "{}", runs(Naive::OnePair, 0.01));
    assert!((42.0..47.0).contains(&runs(Naive::OnePair, 0.02)), "{}", runs(Naive::OnePair, 0.02));
    // A record that only ever rises is harder to beat by luck, and is beaten all the same.
    assert!((0.5..5.0).contains(&runs(Naive::Stored, 0.02)), "{}", runs(Naive::Stored, 0.02));
    assert_eq!(runs(Naive::OnePair, 0.0), 0.0);
}

#[test]
fn stacking_small_gains_ends_higher_than_dropping_them_and_never_above_what_is_there() {
    let rule = Rule::default();
    let mean = |small| -> Night {
        let nights = (0..10).map(|seed| night(&rule, &mut Meter::new(0.0005, 7), small, seed, 300));
        nights.fold(Night::default(), |sum, night| Night {
            champion: sum.champion + night.champion / 10.0,
            left: sum.left + night.left / 10.0,
            there: sum.there + night.there / 10.0,
        })
    };
    let (dropped, stacked) = (mean(Small::Dropped), mean(Small::Stacked));
    assert_eq!(dropped.there, stacked.there, "the same changes");
    assert!(dropped.champion > 0.1 && dropped.left == 0.0, "{dropped:?}");
    assert!(stacked.champion > 1.5 * dropped.champion && stacked.champion < stacked.there, "{stacked:?}");
}

#[test]
fn the_same_seed_gives_the_same_run() {
    let run = |seed| run_of(&Rule::default(), &mut Meter::new(0.01, seed), 0.03, 100);
    assert_eq!(run(5), run(5));
    assert_ne!(run(5), run(6));
}
