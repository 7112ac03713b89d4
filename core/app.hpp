#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/codec.hpp"
#include "core/model.hpp"
#include "core/modes.hpp"
#include "core/node_memory.hpp"
#include "core/packed_weights.hpp"
#include "core/settings.hpp"

namespace sluice {

/// Weights, validated and in the app's own layout: the bytes that rank 0 broadcasts, once a node.
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

/// An opened app with its weights, shared by all devices of a rank. Outlives the models it makes.
class LoadedApp {
public:
    LoadedApp() = default;
    LoadedApp(const LoadedApp&) = delete;
    LoadedApp& operator=(const LoadedApp&) = delete;
    virtual ~LoadedApp() = default;

    /// The weights that have to be packed before the first model is made; null: none.
    [[nodiscard]] virtual PackedWeights* weights() { return nullptr; }

    /// A model on `device`, which is of the kind that the app was loaded for, that keeps to `room`: which is never less
    /// than least_room(room.max_items). One driver thread each.
    [[nodiscard]] virtual std::unique_ptr<Model> make_model(Device& device, const ModelRoom& room) const = 0;

    /// The least ModelRoom::device_bytes that such a model computes in; 0: too few to count. What is faster with more
    /// takes what the room has.
    [[nodiscard]] virtual std::uint64_t least_room(std::uint32_t max_items) const {
        static_cast<void>(max_items);
        return 0;
    }

    /// Model::lag() of its models.
    [[nodiscard]] virtual std::uint32_t lag() const { return 0; }

    [[nodiscard]] virtual ChunkLimits chunk_limits() const { return {}; }

    /// Items of the job that every model wants to see first (Model::calibrate); 0: none.
    [[nodiscard]] virtual std::uint32_t sample_items() const { return 0; }
};

/// What one matrix product of a model is computed as.
struct ProductWork {
    Precision precision = Precision::fp32;  ///< Of each product; neither tf32x3 nor certified.
    std::uint32_t products = 1;
    friend bool operator==(const ProductWork&, const ProductWork&) = default;
};

/// By the precision's own definition.
[[nodiscard]] constexpr ProductWork product_work_of(Precision precision) noexcept {
    return precision == Precision::tf32x3      ? ProductWork{.precision = Precision::tf32, .products = 3}
           : precision == Precision::certified ? ProductWork{.precision = Precision::fp16}
                                               : ProductWork{.precision = precision};
}

/// A file that an app reads besides the input and the weights. What it holds, not where it lies, is part of the run's
/// identity, under its name; it may not change while the job runs.
struct AppFile {
    std::string name;  ///< For messages, "generate.tokenizer".
    std::filesystem::path path;
    std::string hint{};  ///< What to do where it cannot be opened; empty: check the name.
};

/// An app with a job's settings. Every rank opens its own.
class OpenApp {
public:
    OpenApp() = default;
    OpenApp(const OpenApp&) = delete;
    OpenApp& operator=(const OpenApp&) = delete;
    virtual ~OpenApp() = default;

    /// Bytes of an item on the wire and of its outputs, as the codec's. Every rank asks: opens no file.
    [[nodiscard]] virtual IoShape shape() const noexcept = 0;

    /// Whether there are models of it for such devices, host or cuda.
    [[nodiscard]] virtual bool runs_on(DeviceKind kind) const noexcept {
        static_cast<void>(kind);
        return true;
    }

    /// Throws Error (configuration) where the settings ask for what no model has in that precision on such devices.
    virtual void check(Precision precision, DeviceKind kind) const {
        static_cast<void>(precision);
        static_cast<void>(kind);
    }

    /// Items of a chunk below which a device of that kind wastes most of its time, on reading weights for one; for the
    /// first choice of a chunk size.
    [[nodiscard]] virtual std::uint32_t least_chunk(DeviceKind kind) const noexcept {
        static_cast<void>(kind);
        return 1;
    }

    /// Whether an item's results on GPUs have the same bytes in chunks of any size. The automatic chunk size then
    /// depends on the job's number of GPUs.
    [[nodiscard]] virtual bool is_batch_invariant(Precision precision) const noexcept {
        static_cast<void>(precision);
        return false;
    }

    /// Work of one item in floating-point operations that matter, with `weights`, which may decide the model's sizes:
    /// of an item of usual or full size, also where a model finds results in tables or ends sooner. For chunk sizes and
    /// reports.
    [[nodiscard]] virtual double flop_per_item(const WeightBlob& weights) const noexcept = 0;

    /// What most of its products are computed as on GPUs in a run's precision, of `certified` for the first time; for
    /// reports.
    [[nodiscard]] virtual ProductWork product_work(Precision precision) const noexcept {
        return product_work_of(precision);
    }

    /// Files that only the app knows of, next to those that its keys name. Opens none of them.
    [[nodiscard]] virtual std::vector<AppFile> files() const { return {}; }

    /// Only rank 0 asks; may read files. Throws Error.
    [[nodiscard]] virtual std::unique_ptr<ItemCodec> make_codec() const = 0;

    /// Reads and validates a weights file. Throws Error (bad_data, no_input).
    [[nodiscard]] virtual WeightBlob read_weights(const std::string& path) const = 0;

    /// Weights drawn from `seed`, the same on every machine.
    [[nodiscard]] virtual WeightBlob random_weights(std::uint64_t seed) const = 0;

    /// Prepares what read_weights or random_weights made, perhaps on another rank, for devices of `kind`. `weights` has
    /// to stay until LoadedApp::weights() are packed; this app need not outlive what it returns.
    [[nodiscard]] virtual std::unique_ptr<LoadedApp> load(const WeightBlob& weights, Precision precision,
                                                          DeviceKind kind) const = 0;
};

/// One model family: what a job names as `app`. Stateless; one object serves the whole program.
class App {
public:
    App() = default;
    App(const App&) = delete;
    App& operator=(const App&) = delete;
    virtual ~App() = default;

    [[nodiscard]] virtual std::string_view name() const noexcept = 0;
    [[nodiscard]] virtual std::string_view summary() const noexcept = 0;

    /// What only this app's jobs may set, beside the keys that every job has. Static.
    [[nodiscard]] virtual std::span<const KeySpec> keys() const noexcept { return {}; }

    /// `settings` hold the app's keys, each within its own limits. Throws Error (configuration) when they contradict
    /// each other.
    [[nodiscard]] virtual std::unique_ptr<OpenApp> open(const AppSettings& settings) const = 0;
};

/// The apps that a program knows, in the order in which it lists them. An explicit table: apps that register themselves
/// vanish from static libraries.
class Apps {
public:
    /// All of `apps` outlive it; their names differ.
    explicit Apps(std::vector<const App*> apps) : apps_(std::move(apps)) {}

    [[nodiscard]] std::span<const App* const> all() const noexcept { return apps_; }

    /// Null when there is none of that name.
    [[nodiscard]] const App* find(std::string_view name) const noexcept;

    /// Of all of them, with their names.
    [[nodiscard]] std::vector<AppKeys> keys() const;

private:
    std::vector<const App*> apps_;
};

/// load(), with the weights packed by this process only, on up to `threads` threads.
[[nodiscard]] std::unique_ptr<LoadedApp> load_alone(const OpenApp& app, const WeightBlob& weights, Precision precision,
                                                    DeviceKind kind, std::uint32_t threads);

}  // namespace sluice
