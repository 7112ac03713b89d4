#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/config.hpp"
#include "core/model.hpp"
#include "core/node_memory.hpp"
#include "core/packed_weights.hpp"

namespace sluice {

enum class FieldType { int32, float32 };

/// The int32 of an item that has no result: an empty cell, null in JSON. Its floats are NaN.
inline constexpr std::int32_t no_value = std::numeric_limits<std::int32_t>::min();

/// One column (or several equal ones) of the output. The bytes of an output item are its fields, one after the other.
struct OutputField {
    std::string name;
    FieldType type = FieldType::int32;
    std::uint32_t count = 1;
    bool is_chosen = false;  ///< An int32 alone that may have nonfinite_mark.
};

/// Set in an index that was chosen among scores of which some are NaN or infinite, so that this is noticed where the
/// scores themselves stay on the device. It is gone in what is written.
inline constexpr std::int32_t nonfinite_mark = 1 << 30;

/// How an app's items look in files and on the wire. Pure and thread-safe.
class ItemCodec {
public:
    ItemCodec() = default;
    ItemCodec(const ItemCodec&) = delete;
    ItemCodec& operator=(const ItemCodec&) = delete;
    virtual ~ItemCodec() = default;

    [[nodiscard]] virtual IoShape shape() const noexcept = 0;

    /// Text (UTF-8 or any bytes) to one item on the wire; to.size() == shape().input_bytes, every byte is written.
    virtual void encode_text(std::string_view text, std::span<std::byte> to) const = 0;

    /// Bytes of one item in the app's fat fp32 format (`.bin`, `.npy` fp32), row-major `fat_shape()`; empty: has none.
    [[nodiscard]] virtual std::vector<std::uint64_t> fat_shape() const = 0;

    /// Packs one fat item. Returns an empty string, or what is wrong ("column 17: …").
    [[nodiscard]] virtual std::string pack_fat(std::span<const float> fat, std::span<std::byte> to) const = 0;

    /// Checks one item that came in wire form (`.u8`, `.npy` uint8). Empty string, or what is wrong ("byte 17: …").
    [[nodiscard]] virtual std::string check_wire(std::span<const std::byte> item) const = 0;

    [[nodiscard]] virtual std::vector<OutputField> output_fields() const = 0;
};

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

struct AppOptions {
    bool scores = false;  ///< The class scores are part of the output.
    Precision precision = Precision::fp32;
};

/// An app with its weights, shared by all devices of a rank. Outlives the models it makes.
class LoadedApp {
public:
    LoadedApp() = default;
    LoadedApp(const LoadedApp&) = delete;
    LoadedApp& operator=(const LoadedApp&) = delete;
    virtual ~LoadedApp() = default;

    /// The weights that have to be packed before the first model is made; null: none.
    [[nodiscard]] virtual PackedWeights* weights() { return nullptr; }

    /// A model on `device`, which is of the kind that the app was loaded for, for chunks of up to `max_items`. One
    /// driver thread each.
    [[nodiscard]] virtual std::unique_ptr<Model> make_model(Device& device, std::uint32_t max_items) const = 0;

    /// Items of the job that every model wants to see first (Model::calibrate); 0: none.
    [[nodiscard]] virtual std::uint32_t sample_items() const { return 0; }

    /// Bytes of the device buffers that such a model allocates for itself; 0: few enough not to count.
    [[nodiscard]] virtual std::uint64_t work_bytes(std::uint32_t max_items) const {
        static_cast<void>(max_items);
        return 0;
    }
};

/// A model's entry in the table of apps (apps/registry.hpp).
class App {
public:
    App() = default;
    App(const App&) = delete;
    App& operator=(const App&) = delete;
    virtual ~App() = default;

    [[nodiscard]] virtual std::string_view name() const noexcept = 0;
    [[nodiscard]] virtual std::string_view summary() const noexcept = 0;

    [[nodiscard]] virtual std::unique_ptr<ItemCodec> make_codec(const AppOptions& options) const = 0;

    /// Reads and validates a weights file. Throws Error (bad_data, no_input).
    [[nodiscard]] virtual WeightBlob read_weights(const std::string& path) const = 0;

    /// Weights drawn from `seed`, the same on every machine.
    [[nodiscard]] virtual WeightBlob random_weights(std::uint64_t seed) const = 0;

    /// Prepares what read_weights or random_weights made, perhaps on another rank, for devices of `kind`. `weights` has
    /// to stay until LoadedApp::weights() are packed.
    [[nodiscard]] virtual std::unique_ptr<LoadedApp> load(const WeightBlob& weights, const AppOptions& options,
                                                          DeviceKind kind) const = 0;

    /// Work of one item in floating-point operations that matter; for chunk sizes and reports.
    [[nodiscard]] virtual double flop_per_item() const noexcept = 0;
};

/// load(), with the weights packed in this process alone, on up to `threads` threads.
[[nodiscard]] std::unique_ptr<LoadedApp> load_alone(const App& app, const WeightBlob& weights,
                                                    const AppOptions& options, DeviceKind kind, std::uint32_t threads);

}  // namespace sluice
