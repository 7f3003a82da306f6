//! The rule, case by case; what holds for all inputs; what it does over thousands of simulated searches.
