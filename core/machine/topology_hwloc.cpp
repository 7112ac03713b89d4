#include "core/machine/topology_hwloc.hpp"

#include <fmt/format.h>
#include <hwloc.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <system_error>

#include "core/error.hpp"

static_assert(HWLOC_API_VERSION >= 0x00020000, "hwloc 1 loses the GPUs of NUMA nodes that are not allowed");

namespace sluice {
namespace {

constexpr std::uintmax_t largest_xml = 64U << 20U;

struct FreeBitmap {
    void operator()(hwloc_bitmap_t bitmap) const noexcept { hwloc_bitmap_free(bitmap); }
};
using Bitmap = std::unique_ptr<std::remove_pointer_t<hwloc_bitmap_t>, FreeBitmap>;

struct DestroyTopology {
    void operator()(hwloc_topology_t topology) const noexcept { hwloc_topology_destroy(topology); }
};
using Handle = std::unique_ptr<std::remove_pointer_t<hwloc_topology_t>, DestroyTopology>;

/// CPUs at CpuSet::limit and beyond are left out.
CpuSet to_cpu_set(hwloc_const_bitmap_t bitmap) {
    CpuSet set;
    for (int cpu = -1; (cpu = hwloc_bitmap_next(bitmap, cpu)) != -1 && cpu < static_cast<int>(CpuSet::limit);) {
        set.add(static_cast<std::uint32_t>(cpu));
    }
    return set;
}

Bitmap to_bitmap(const CpuSet& cpus) {
    Bitmap bitmap(hwloc_bitmap_alloc());
    for (const std::uint32_t cpu : cpus.cpus()) {
        hwloc_bitmap_set(bitmap.get(), cpu);
    }
    return bitmap;
}

std::string info_of(hwloc_obj_t object, const char* name) {
    const char* const text = hwloc_obj_get_info_by_name(object, name);
    return text == nullptr ? std::string() : text;
}

/// Of the PCI device that `object` is or belongs to; null: none.
hwloc_obj_t pci_device_of(hwloc_obj_t object) {
    while (object != nullptr && object->type != HWLOC_OBJ_PCI_DEVICE) {
        object = object->parent;
    }
    return object;
}

std::string address_of(hwloc_obj_t device) {
    const auto& pci = device->attr->pcidev;
    return fmt::format("{:04x}:{:02x}:{:02x}.{:x}", pci.domain, pci.bus, pci.dev, pci.func);
}

/// A topology with nothing but what is asked for; null when hwloc cannot make one.
Handle make_handle(TopologyDetail detail) {
    hwloc_topology_t raw = nullptr;
    if (hwloc_topology_init(&raw) != 0) {
        return nullptr;
    }
    Handle handle(raw);
    // What is not allowed stays in the description, so that all ranks of a node agree on it.
    hwloc_topology_set_flags(raw, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED);
    hwloc_topology_set_cache_types_filter(raw, HWLOC_TYPE_FILTER_KEEP_NONE);
    hwloc_topology_set_io_types_filter(
        raw, detail == TopologyDetail::devices ? HWLOC_TYPE_FILTER_KEEP_IMPORTANT : HWLOC_TYPE_FILTER_KEEP_NONE);
    for (const char* const component : {"cuda", "nvml", "rsmi", "levelzero", "opencl", "gl"}) {
        // They would start drivers before CUDA_VISIBLE_DEVICES is looked at. A component that is not there is fine.
        hwloc_topology_set_components(raw, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, component);
    }
    return handle;
}

class Description {
public:
    explicit Description(hwloc_topology_t handle) : handle_(handle) {}

    Topology read() {
        topology_.cpus = to_cpu_set(hwloc_topology_get_topology_cpuset(handle_));
        topology_.allowed = to_cpu_set(hwloc_topology_get_allowed_cpuset(handle_)) & topology_.cpus;
        topology_.mask = topology_.allowed;
        for_each(HWLOC_OBJ_PACKAGE, [&](hwloc_obj_t package) {
            topology_.packages.push_back({.number = package->os_index,
                                          .model = info_of(package, "CPUModel"),
                                          .cpus = to_cpu_set(package->cpuset)});
        });
        for_each(HWLOC_OBJ_NUMANODE, [&](hwloc_obj_t node) { add_node(node); });
        add_cores();
        for_each(HWLOC_OBJ_PCI_DEVICE, [&](hwloc_obj_t device) { add_gpu(device); });
        for_each(HWLOC_OBJ_OS_DEVICE, [&](hwloc_obj_t device) { add_details(device); });
        std::ranges::sort(topology_.gpus, {}, &Gpu::pci);
        std::ranges::sort(topology_.nics, {}, &Nic::pci);
        return std::move(topology_);
    }

private:
    template <class Visit>
    void for_each(hwloc_obj_type_t type, const Visit& visit) {
        for (hwloc_obj_t one = nullptr; (one = hwloc_get_next_obj_by_type(handle_, type, one)) != nullptr;) {
            visit(one);
        }
    }

    void add_node(hwloc_obj_t node) {
        const bool of_gpu = node->subtype != nullptr && std::strcmp(node->subtype, "GPUMemory") == 0;
        topology_.numa_nodes.push_back({.number = node->os_index,
                                        .bytes = node->attr->numanode.local_memory,
                                        .cpus = to_cpu_set(node->cpuset),
                                        .gpu = of_gpu ? normal_pci(info_of(node, "PCIBusID")) : std::string()});
    }

    void add_cores() {
        CpuSet covered;
        const auto add = [&](hwloc_obj_t object) {
            const CpuSet cpus = to_cpu_set(object->cpuset);
            if (!covered.contains(cpus)) {
                topology_.cores.push_back({.number = object->os_index, .cpus = cpus});
                covered |= cpus;
            }
        };
        for_each(HWLOC_OBJ_CORE, add);
        for_each(HWLOC_OBJ_PU, add);  // some virtual machines describe nothing else
    }

    [[nodiscard]] CpuSet near(hwloc_obj_t device) const {
        const hwloc_obj_t around = hwloc_get_non_io_ancestor_obj(handle_, device);
        const CpuSet cpus = around == nullptr ? CpuSet() : to_cpu_set(around->cpuset);
        return cpus.empty() ? topology_.cpus : cpus;
    }

    void add_gpu(hwloc_obj_t device) {
        constexpr unsigned nvidia = 0x10de;
        constexpr unsigned display = 0x03;  // the base class of graphics and 3D controllers
        if (device->attr->pcidev.vendor_id != nvidia || device->attr->pcidev.class_id >> 8U != display) {
            return;
        }
        Gpu gpu{.pci = address_of(device), .name = info_of(device, "PCIDevice"), .near = near(device)};
        const auto memory = std::ranges::find(topology_.numa_nodes, gpu.pci, &NumaNode::gpu);
        if (memory != topology_.numa_nodes.end() && !memory->cpus.empty()) {
            gpu.near = memory->cpus;  // CPU and GPU are one chip, which the bus knows nothing of
        }
        topology_.gpus.push_back(std::move(gpu));
    }

    void add_details(hwloc_obj_t device) {
        const hwloc_obj_t pci = pci_device_of(device);
        const std::string address = pci == nullptr ? std::string() : address_of(pci);
        const hwloc_obj_osdev_type_t type = device->attr->osdev.type;
        if (type == HWLOC_OBJ_OSDEV_NETWORK || type == HWLOC_OBJ_OSDEV_OPENFABRICS) {
            add_nic({.pci = address,
                     .name = device->name == nullptr ? std::string() : device->name,
                     .fabric = type == HWLOC_OBJ_OSDEV_OPENFABRICS,
                     .near = near(device)});
        }
        if (const auto gpu = find_gpu(topology_, address)) {
            if (const std::string model = info_of(device, "GPUModel"); !model.empty()) {
                topology_.gpus[*gpu].name = model;
            }
            if (const std::string uuid = info_of(device, "NVIDIAUUID"); !uuid.empty()) {
                topology_.gpus[*gpu].uuid = uuid;
            }
        }
    }

    /// An adapter has a network interface and a fabric's device: it is known by the latter.
    void add_nic(Nic nic) {
        const auto same = std::ranges::find_if(
            topology_.nics, [&](const Nic& other) { return !nic.pci.empty() && other.pci == nic.pci; });
        if (same == topology_.nics.end()) {
            topology_.nics.push_back(std::move(nic));
        } else if (nic.fabric && !same->fabric) {
            *same = std::move(nic);
        }
    }

    hwloc_topology_t handle_;
    Topology topology_;
};

class HwlocAffinity final : public Affinity {
public:
    explicit HwlocAffinity(Handle handle) : handle_(std::move(handle)) {}

    [[nodiscard]] std::string set(const CpuSet& cpus) override {
        const bool done = hwloc_set_cpubind(handle_.get(), to_bitmap(cpus).get(), HWLOC_CPUBIND_THREAD) == 0;
        return done ? std::string() : system_text(errno);
    }

    [[nodiscard]] CpuSet get() const override {
        const Bitmap bitmap(hwloc_bitmap_alloc());
        const bool done = hwloc_get_cpubind(handle_.get(), bitmap.get(), HWLOC_CPUBIND_THREAD) == 0;
        return done ? to_cpu_set(bitmap.get()) : CpuSet();
    }

private:
    Handle handle_;
};

Machine without_hwloc(std::string why) {
    Machine machine{.topology = flat_topology(kernel_affinity())};
    machine.topology.why_unbindable = std::move(why);
    return machine;
}

[[noreturn]] void refuse(ExitCode code, const char* id, const std::filesystem::path& file, std::string what) {
    throw Error(code, {.id = id,
                       .where = escaped(file.native()),
                       .what = std::move(what),
                       .hint = "write one with `lstopo FILE.xml` on that machine"});
}

[[noreturn]] void refuse_content(const std::filesystem::path& file, std::string what) {
    refuse(ExitCode::bad_data, "E-HWL-121", file, std::move(what));
}

/// The text of a file that should hold a machine's XML.
std::string read_xml(const std::filesystem::path& file) {
    std::error_code failed;
    const std::filesystem::file_status status = std::filesystem::status(file, failed);
    if (failed || !std::filesystem::is_regular_file(status)) {
        refuse(ExitCode::no_input, "E-HWL-120", file,
               std::filesystem::exists(status) ? "is not a regular file" : "cannot be opened: " + failed.message());
    }
    if (std::filesystem::file_size(file, failed) > largest_xml || failed) {
        refuse_content(file, "is larger than 64 MiB, expected the XML of one machine");
    }
    std::ifstream stream(file, std::ios::binary);
    if (!stream) {
        refuse(ExitCode::no_input, "E-HWL-120", file, "cannot be opened: " + system_text(errno));
    }
    return {std::istreambuf_iterator<char>(stream), {}};
}

/// Null if hwloc refuses the XML.
Handle load_xml(const std::string& xml) {
    Handle handle = make_handle(TopologyDetail::devices);
    if (handle == nullptr) {
        throw std::bad_alloc();
    }
    const int bytes = static_cast<int>(xml.size() + 1);
    const bool done =
        hwloc_topology_set_xmlbuffer(handle.get(), xml.c_str(), bytes) == 0 && hwloc_topology_load(handle.get()) == 0;
    return done ? std::move(handle) : nullptr;
}

/// Whether hwloc dies over the XML, as 2.9 does where an object lacks a set: a child process tries it.
bool is_deadly(const std::string& xml) {
    const pid_t child = ::fork();
    if (child == 0) {
        const rlimit no_core{};
        ::setrlimit(RLIMIT_CORE, &no_core);
        for (const int signal : {SIGSEGV, SIGBUS, SIGABRT, SIGFPE}) {
            ::signal(signal, SIG_DFL);
        }
        try {
            if (const Handle handle = load_xml(xml)) {
                Description(handle.get()).read();
            }
        } catch (...) {  // this process will meet it, and tell
        }
        ::_exit(0);
    }
    int status = 0;
    while (child > 0 && ::waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    return WIFSIGNALED(status);
}

}  // namespace

Machine read_machine(TopologyDetail detail) {
    Handle handle = make_handle(detail);
    if (handle == nullptr || hwloc_topology_load(handle.get()) != 0) {
        return without_hwloc("hwloc cannot read this machine's topology");
    }
    if (hwloc_topology_is_thissystem(handle.get()) == 0) {  // binding would succeed and do nothing
        return without_hwloc("hwloc was told to describe another machine (HWLOC_XMLFILE, HWLOC_SYNTHETIC)");
    }
    Machine machine{.topology = Description(handle.get()).read()};
    // This thread's mask is the launcher's; a library's threads may have others.
    const Bitmap mask(hwloc_bitmap_alloc());
    if (hwloc_get_cpubind(handle.get(), mask.get(), HWLOC_CPUBIND_THREAD) == 0) {
        machine.topology.mask = to_cpu_set(mask.get()) & machine.topology.allowed;
    }
    if (machine.topology.mask.empty()) {
        return without_hwloc("hwloc knows none of the CPUs that this process may use");
    }
    machine.affinity = std::make_unique<HwlocAffinity>(std::move(handle));
    return machine;
}

std::string hwloc_version() {
    return HWLOC_VERSION;
}

Topology read_topology(const std::filesystem::path& xml) {
    const std::string text = read_xml(xml);
    setenv("HWLOC_HIDE_ERRORS", "2", 0);  // what is wrong with the file is told by us, once
    const Handle handle = is_deadly(text) ? nullptr : load_xml(text);
    if (handle == nullptr) {
        refuse_content(xml, "is not the XML of a machine that hwloc 2 can read");
    }
    if (hwloc_bitmap_last(hwloc_topology_get_complete_cpuset(handle.get())) >= static_cast<int>(CpuSet::limit)) {
        refuse_content(xml, fmt::format("has CPUs beyond number {}", CpuSet::limit - 1));
    }
    Topology topology = Description(handle.get()).read();
    topology.why_unbindable = "it is another machine's description";
    return topology;
}

}  // namespace sluice
