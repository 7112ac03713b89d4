#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/chunk.hpp"
#include "core/device.hpp"

namespace sluice {

/// What a model did that computes uncertain items a second time, and a third (Precision::certified).
struct Certification {
    /// What came closer than the bound.
    enum class Measure : std::uint8_t {
        share,  ///< The best two scores, as a share of the scores' size.
        gap,    ///< The best two scores.
        draw,   ///< A draw, to a sum of probabilities behind which it gives another result.
    };

    std::optional<std::uint64_t> checked{};  ///< Items whose uncertain parts were computed again first; none: where
                                             ///< items are computed again as a whole.
    std::uint64_t recomputed = 0;            ///< Items.
    std::uint64_t recomputed_twice = 0;      ///< Of those, left uncertain by the second time too.
    double bound = 0;                        ///< It did for what came closer; infinite: all.
    Measure measure = Measure::share;
    std::optional<double> gap_bound{};  ///< Where draws are among some of the scores only, of the gap to the others.
    friend bool operator==(const Certification&, const Certification&) = default;
};

inline constexpr std::array<std::string_view, 3> measure_names{"share", "gap", "draw"};

/// A number that tells of a model's work beside its items, summed over all devices for the report.
struct ModelCount {
    /// What the latency table adds to the number.
    enum class Beside : std::uint8_t { rate, share_of_items };

    std::string name;  ///< "ended_early"; letters, digits and _.
    std::uint64_t value = 0;
    Beside beside = Beside::rate;
    friend bool operator==(const ModelCount&, const ModelCount&) = default;
};

/// What a model may take on its device.
struct ModelRoom {
    std::uint32_t max_items = 1;              ///< Of a chunk.
    std::uint64_t device_bytes = UINT64_MAX;  ///< Of the device's memory, beside the app's weights.
};

/// The chunks that suit a model. A chunk size that is chosen keeps to them; one that a job names need not.
struct ChunkLimits {
    std::uint32_t least = 1;  ///< Items; below, they leave the device idle.
    std::uint32_t most = UINT32_MAX;
    std::uint32_t multiple = 1;  ///< What fills the device's waves; 1: it is to be found by measuring.
};

/// A model on one device, with its own work space: made once, used by one driver.
class Model {
public:
    Model() = default;
    Model(const Model&) = delete;
    Model& operator=(const Model&) = delete;
    virtual ~Model() = default;

    [[nodiscard]] virtual IoShape shape() const noexcept = 0;

    /// Enqueues the work that turns `items` inputs at `in` into `items` outputs at `out`, both in device memory. The
    /// outputs depend on the inputs, the weights and `items` alone. `items` is at most what the model was made for.
    /// Called again with the same arguments it enqueues the same work: what changes from chunk to chunk is kept on the
    /// device, because a device may enqueue it again by itself (Stream::launch).
    virtual void forward(Stream& stream, std::size_t items, std::span<const std::byte> in,
                         std::span<std::byte> out) = 0;

    /// Chunks that the model holds back, so that it can begin the next one before the last items of these are done: the
    /// outputs of a forward() are complete once the work of `lag()` later ones is, or that of a finish(). Until then
    /// its input and output stay alive, the input unchanged and the output untouched by others. The same all its life.
    [[nodiscard]] virtual std::uint32_t lag() const noexcept { return 0; }

    /// Enqueues the work that completes the outputs of every forward() so far; forward() may follow. Called when the
    /// input has ended, but also when no further chunk is there yet, however often that is and whichever chunks it
    /// finds held back: an output must not depend on it. Enqueues the same work each time, as forward(). Never called
    /// for a model without lag().
    virtual void finish(Stream& stream) { static_cast<void>(stream); }

    /// The same where only the first `*active` of the items count: device memory, read when the work runs. What the
    /// outputs of the others are is open; their work may be saved.
    virtual void forward_active(Stream& stream, std::size_t items, const std::uint32_t* active,
                                std::span<const std::byte> in, std::span<std::byte> out) {
        static_cast<void>(active);
        forward(stream, items, in, out);
    }

    /// Learns what it has to from `sample`, some of the job's items, the same on every device. Before the first
    /// forward(); is done when this returns. Nothing, unless LoadedApp::sample_items().
    virtual void calibrate(Stream& stream, std::span<const std::byte> sample) {
        static_cast<void>(stream);
        static_cast<void>(sample);
    }

    /// In all that is done: wait for what was enqueued first. nullopt: it computes every item once.
    [[nodiscard]] virtual std::optional<Certification> certification() const { return std::nullopt; }

    /// Likewise; the same names in the same order for all models of an app.
    [[nodiscard]] virtual std::vector<ModelCount> counts() const { return {}; }
};

}  // namespace sluice
