#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/codec.hpp"
#include "core/interface.hpp"
#include "core/model.hpp"
#include "core/modes.hpp"
#include "core/settings.hpp"
#include "core/system/node_memory.hpp"

namespace sluice {

class PackedWeights;

/// Validated weights in the app's own layout. Rank 0 broadcasts these bytes, once per node.
struct WeightBlob {
    NodeMemory memory;

    /// Throws std::bad_alloc.
    [[nodiscard]] static WeightBlob of_floats(std::size_t count) {
        return {NodeMemory::for_node(count * sizeof(float))};
    }

    [[nodiscard]] std::span<float> floats() const noexcept {
        const std::span<std::byte> bytes = memory.bytes();
        return {reinterpret_cast<float*>(bytes.data()), bytes.size() / sizeof(float)};
    }
};

/// An app loaded with its weights, shared by all devices of a rank. Outlives the models it makes.
class LoadedApp : public Interface {
public:
    /// Weights (core/weights/packed_weights.hpp) that must be packed before the first model is made; null if there are
    /// none.
    [[nodiscard]] virtual PackedWeights* weights() { return nullptr; }

    /// Makes a model on `device`, of the kind that the app was loaded for, within `room`, which provides at least
    /// least_room(room.most_items). Each model is used by one driver thread.
    [[nodiscard]] virtual std::unique_ptr<Model> make_model(Device& device, const ModelRoom& room) const = 0;

    /// Minimum ModelRoom::device_bytes that such a model needs; 0 if negligible. A model that is faster with more
    /// memory takes all that its room provides.
    [[nodiscard]] virtual std::uint64_t least_room([[maybe_unused]] std::uint32_t most_items) const { return 0; }

    /// Model::lag() of the models it makes.
    [[nodiscard]] virtual std::uint32_t lag() const { return 0; }

    [[nodiscard]] virtual ChunkLimits chunk_limits() const { return {}; }

    /// Number of the job's items that every model sees before the first chunk (Model::calibrate); 0 if none.
    [[nodiscard]] virtual std::uint32_t sample_items() const { return 0; }

    /// Changes copies of items, whose number is `copy` from 1 on, so that copies differ: a chunk is timed with copies
    /// of a sample, and equal items may take a model less time than different ones.
    virtual void vary_copies([[maybe_unused]] std::span<std::byte> items, [[maybe_unused]] std::uint32_t copy) const {}
};

/// How the hardware computes one matrix product of a model.
struct ProductWork {
    Precision precision = Precision::fp32;  ///< Of each hardware product; none of tf32x3, fp16x2 and certified.
    std::uint32_t products = 1;             ///< Hardware products per product of the model.
    friend bool operator==(const ProductWork&, const ProductWork&) = default;
};

/// By the definition of the precision.
[[nodiscard]] constexpr ProductWork product_work_of(Precision precision) noexcept {
    return precision == Precision::tf32x3      ? ProductWork{.precision = Precision::tf32, .products = 3}
           : precision == Precision::certified ? ProductWork{.precision = Precision::fp16}
                                               : ProductWork{.precision = precision};
}

/// A file that an app reads besides the input and the weights. Its name and content, not its path, are part of the
/// run's identity; it must not change while the job runs.
struct AppFile {
    std::string name;  ///< For messages, e.g. "generate.tokenizer".
    std::filesystem::path path;
    std::string hint{};  ///< What to do if it cannot be opened; empty: check the name.
};

/// An app with a job's settings. Every rank opens one, but only rank 0 calls make_codec(), read_weights() and
/// random_weights(), and only these may open files, which other ranks may not have: what models need of a file goes
/// with the weights, which every rank gets.
class OpenApp : public Interface {
public:
    /// Bytes of an item and of its result on the wire; equals the codec's shape.
    [[nodiscard]] virtual IoShape shape() const noexcept = 0;

    /// Whether the app has models for `kind`, host or cuda. One that calls as_host() (core/device/host_stream.hpp) has
    /// none for cuda.
    [[nodiscard]] virtual bool runs_on([[maybe_unused]] DeviceKind kind) const noexcept { return true; }

    /// Whether the app has models that compute in fp8 and fp16x2 on GPUs. If not, a job in these is refused.
    [[nodiscard]] virtual bool supports_fp8() const noexcept { return false; }

    /// Throws Error (configuration) if no model supports the settings in `precision` on such devices.
    virtual void check([[maybe_unused]] Precision precision, [[maybe_unused]] DeviceKind kind) const {}

    /// Items per chunk below which a host device wastes most of its time, for example on reading weights. For GPUs see
    /// LoadedApp::chunk_limits().
    [[nodiscard]] virtual std::uint32_t least_chunk() const noexcept { return 1; }

    /// Whether results on GPUs are bitwise independent of the chunk size. The automatic chunk size may then depend on
    /// the job's number of GPUs.
    [[nodiscard]] virtual bool is_batch_invariant([[maybe_unused]] Precision precision) const noexcept { return false; }

    /// Floating-point operations per item, for chunk sizes and reports. `weights` may determine the model's sizes.
    /// Counts an item of typical or full size, even if the model looks results up in tables or ends early.
    [[nodiscard]] virtual double flop_per_item(const WeightBlob& weights) const noexcept = 0;

    /// How GPUs compute most of the model's products in a run's precision, for reports; for `certified`, in the first
    /// pass.
    [[nodiscard]] virtual ProductWork product_work(Precision precision) const noexcept {
        return product_work_of(precision);
    }

    /// Files that the app reads in addition to those named by its keys. Opens none of them.
    [[nodiscard]] virtual std::vector<AppFile> files() const { return {}; }

    /// Throws Error.
    [[nodiscard]] virtual std::unique_ptr<ItemCodec> make_codec() const = 0;

    /// Reads and validates a weights file. Throws Error (bad_data, no_input).
    [[nodiscard]] virtual WeightBlob read_weights(const std::filesystem::path& path) const = 0;

    /// Random weights generated from `seed`, equal on every machine; {} of an app without weights.
    [[nodiscard]] virtual WeightBlob random_weights(std::uint64_t seed) const = 0;

    /// Prepares `weights`, made by read_weights() or random_weights() on this or another rank, for devices of `kind`.
    /// `weights` must stay alive until LoadedApp::weights() is packed; this app need not outlive the returned object.
    [[nodiscard]] virtual std::unique_ptr<LoadedApp> load(const WeightBlob& weights, Precision precision,
                                                          DeviceKind kind) const = 0;
};

/// A model family: the value of a job's key `app`. Stateless; one object serves the whole program.
class App : public Interface {
public:
    [[nodiscard]] virtual std::string_view name() const noexcept = 0;
    [[nodiscard]] virtual std::string_view summary() const noexcept = 0;

    /// Keys that only this app's jobs may set, in addition to those of every job. Static storage.
    [[nodiscard]] virtual std::span<const KeySpec> keys() const noexcept { return {}; }

    /// Versions, by name, of libraries on which its results depend, for `sluice --version`.
    [[nodiscard]] virtual std::map<std::string, std::string> libraries() const { return {}; }

    /// `settings` holds the app's keys, each within its limits. Called on every rank: opens no file. Throws Error
    /// (configuration) if they contradict each other.
    [[nodiscard]] virtual std::unique_ptr<OpenApp> open(const AppSettings& settings) const = 0;
};

/// The apps of a program, in the order in which it lists them. An explicit table, because the linker drops
/// self-registering objects from static libraries.
class Apps {
public:
    /// `apps` outlive this object and have distinct names.
    explicit Apps(std::vector<const App*> apps) : apps_(std::move(apps)) {}

    [[nodiscard]] std::span<const App* const> all() const noexcept { return apps_; }

    /// Null if there is no app of that name.
    [[nodiscard]] const App* find(std::string_view name) const noexcept;

    /// Keys of all apps, with the apps' names.
    [[nodiscard]] std::vector<AppKeys> keys() const;

private:
    std::vector<const App*> apps_;
};

/// Throws ContractViolation unless `shape`, of the app's `whose` ("codec", "model"), is what its OpenApp says, and no
/// size is 0.
void check_shape(std::string_view whose, const IoShape& shape, const IoShape& of_app);

}  // namespace sluice
