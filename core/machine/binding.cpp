#include "core/machine/binding.hpp"

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
    if (machine.affinity == nullptr) {
        return unbound(fmt::format("threads are not bound to their CPUs: {}", machine.topology.why_unbindable));
    }
    if (machine.affinity->get() == cpus) {
        return std::nullopt;
    }
    if (const std::string why = machine.affinity->set(cpus); !why.empty()) {
        return unbound(fmt::format("a thread cannot be bound to CPUs {}: {}", cpus.text(), why));
    }
    if (const CpuSet now = machine.affinity->get(); now != cpus) {
        return unbound(fmt::format("a thread was bound to CPUs {}, but runs on {}", cpus.text(),
                                   now.empty() ? "unknown CPUs" : "CPUs " + now.text()));
    }
    return std::nullopt;
}

std::optional<ErrorText> leave_mask(Machine& machine) {
    if (machine.affinity == nullptr) {
        return unbound(fmt::format("the launcher's mask stays in force: {}", machine.topology.why_unbindable));
    }
    Topology& topology = machine.topology;
    if (const std::string why = machine.affinity->set(topology.allowed); !why.empty()) {
        return unbound(fmt::format("the launcher's mask stays in force: CPUs {} are not available: {}",
                                   topology.allowed.text(), why));
    }
    const CpuSet now = machine.affinity->get() & topology.cpus;
    if (now.empty()) {
        return unbound("the launcher's mask was lifted, but the CPUs in use are unknown");
    }
    topology.mask = topology.allowed = now;
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
