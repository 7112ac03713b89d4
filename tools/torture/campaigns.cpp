#include "tools/torture/campaigns.hpp"

#include <fmt/format.h>

#include "core/error.hpp"

namespace sluice::torture {

std::string undisturbed(const Job& job, std::uint64_t salt) {
    Start start{.output = job.folder() / fmt::format("reference-{}.csv", salt)};
    if (salt != 0) {
        start.faults.push_back(fmt::format("result::*=salt:{}", salt));
    }
    Attempt attempt(job.command(start));
    if (const int code = attempt.wait(); code != 0) {
        throw Error(ExitCode::internal, {.id = "E-RUN-001",
                                         .where = escaped(start.output.native()),
                                         .what = fmt::format("an undisturbed run has exit code {}", code),
                                         .hint = escaped(job.log())});
    }
    std::string bytes = contents_of(start.output);
    remove_output(start.output);
    return bytes;
}

bool has_faults(const Job& job) {
    const std::filesystem::path output = job.folder() / "probe.csv";
    Attempt attempt(job.command({.output = output, .faults = {"finalize:0:1000000=kill"}}));
    const bool there = attempt.wait() == 0;
    remove_output(output);
    return there;
}

void inspect_into(Tally& tally, const Job& job, const std::filesystem::path& output,
                  const std::vector<std::string>& references, const std::string& story) {
    const Damage damage = inspect(job, output, references);
    tally.damage.lost += damage.lost;
    tally.damage.doubled += damage.doubled;
    tally.damage.different += damage.different;
    if (!damage.none()) {
        tally.problems.push_back(fmt::format("{}: {} items lost, {} doubled, {} different; {}", story, damage.lost,
                                             damage.doubled, damage.different,
                                             damage.manifest.empty() ? "the manifest is true" : damage.manifest));
        tally.damage.manifest = damage.manifest;
    } else {
        remove_output(output);
    }
}

}  // namespace sluice::torture
