#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "core/interface.hpp"
#include "core/machine/cpu_set.hpp"
#include "core/machine/topology.hpp"

namespace sluice {

enum class TopologyDetail {
    cpus,     ///< Packages, NUMA nodes and cores.
    devices,  ///< GPUs and NICs too, which takes longer.
};

/// The operating system's word on where the calling thread runs.
class Affinity : public Interface {
public:
    /// Ties the calling thread, and those that it starts from now on, to `cpus`. Returns why it cannot, "" if it can;
    /// some systems accept a request and do something else.
    [[nodiscard]] virtual std::string set(const CpuSet& cpus) = 0;

    /// Empty when it cannot be told.
    [[nodiscard]] virtual CpuSet get() const = 0;
};

/// The machine that this process runs on.
struct Machine {
    Topology topology{};
    std::unique_ptr<Affinity> affinity{};  ///< Null when no thread can be tied to these CPUs: see why_unbindable.
};

/// "2.9.0": what this was built with; the library itself tells only its interface's version.
[[nodiscard]] std::string hwloc_version();

/// Reads it. The same in all processes of a node, but for `allowed` and `mask`. When hwloc cannot, or describes another
/// machine (HWLOC_XMLFILE), it is the plain list of CPUs that this process may use, with `why_unbindable`.
[[nodiscard]] Machine read_machine(TopologyDetail detail);

/// A machine as `lstopo FILE.xml` has written it; its mask is what was allowed there. Throws Error (no_input,
/// bad_data).
[[nodiscard]] Topology read_topology(const std::filesystem::path& xml);

}  // namespace sluice
