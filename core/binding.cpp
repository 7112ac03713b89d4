#include "core/binding.hpp"

#include <fmt/format.h>

namespace sluice {
namespace {

ErrorText unbound(std::string what) {
    return {.id = "W-HWL-077",
            .what = std::move(what),
            .hint = "layout.bind = \"inherit\" leaves threads where the launcher puts them"};
}

}  // namespace

std::optional<ErrorText> bind(Machine& machine, const CpuSet& cpus) {
    expects(!cpus.empty(), "bind: a thread runs on one CPU at least");
    const Topology& topology = machine.topology;
    if (!topology.allowed.contains(cpus)) {
        throw Error(ExitCode::configuration,
                    {.id = "E-HWL-076",
                     .where = "layout.bind",
                     .what = fmt::format("a thread is to run on CPUs {}, but the cgroup allows CPUs {} only",
                                         cpus.text(), topology.allowed.text()),
                     .hint = "set layout.bind = \"inherit\", or give the job those CPUs"});
    }
    if (machine.affinity == nullptr) {
        return unbound(fmt::format("no thread is tied to its CPUs: {}", topology.why_unbindable));
    }
    if (machine.affinity->get() == cpus) {
        return std::nullopt;
    }
    if (const std::string why = machine.affinity->set(cpus); !why.empty()) {
        return unbound(fmt::format("a thread cannot be tied to CPUs {}: {}", cpus.text(), why));
    }
    if (const CpuSet now = machine.affinity->get(); now != cpus) {
        return unbound(fmt::format("a thread was tied to CPUs {}, but is on {}", cpus.text(),
                                   now.empty() ? "CPUs that nobody can tell" : "CPUs " + now.text()));
    }
    return std::nullopt;
}

BoundWhile::BoundWhile(Machine& machine, const CpuSet& cpus)
    : machine_(machine),
      before_(machine.affinity == nullptr ? CpuSet() : machine.affinity->get()),
      finding_(bind(machine, cpus)) {}

BoundWhile::~BoundWhile() {
    if (!before_.empty()) {
        // Nobody to tell: what it had once it may have again, and if not, the thread runs all the same.
        static_cast<void>(machine_.affinity->set(before_));
    }
}

}  // namespace sluice
