#pragma once

#include <span>

#include "scheduler/provenance.hpp"
#include "scheduler/rank_report.hpp"

namespace sluice {

/// A send is over for rank 0 when MPI has the bytes, and the system may still hold them: where another rank received
/// for longer than rank 0 sent, that is how long the link to it was busy, and all links together at least as long.
void count_receipts(std::span<RankReport> ranks, std::span<LinkTraffic> links);

}  // namespace sluice
