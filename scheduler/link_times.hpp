#pragma once

#include <span>

#include "scheduler/provenance.hpp"
#include "scheduler/rank_report.hpp"

namespace sluice {

/// For rank 0 a send ends when MPI has the bytes, which may still be buffered: where a rank received for longer than
/// rank 0 sent, its receive time becomes the link's, and rank 0's scatter was busy for at least the longest one.
void count_receipts(std::span<RankReport> ranks, std::span<LinkTraffic> links);

}  // namespace sluice
