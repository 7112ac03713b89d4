#pragma once

#include <cstdint>

#include "tests/core/commit/commit_fixture.hpp"

namespace sluice::test {

// Three ways to do it wrong, each made of the protocol's own pieces in another order. A harness that finds no fault
// with them would find none anywhere.

/// All attempts write to the same folder, part and journal: the next one continues where the last entry ends.
void output_without_attempts(const RunFolder& folder, std::uint64_t variant);

/// An entry is written and synced before the data that it speaks of, and is believed later without a look at the data.
void attempt_with_journal_first(const RunFolder& folder, std::uint64_t variant);

/// The finished files and the manifest are renamed over whatever is there.
void attempt_with_rename(const RunFolder& folder, std::uint64_t variant);

}  // namespace sluice::test
