#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "core/app.hpp"
#include "core/model.hpp"
#include "kernels/kernels.hpp"

namespace sluice {

/// Layers that run in sequence on up to `group_items` items at a time, so that activations stay in the caches.
struct SequentialStage {
    std::vector<std::unique_ptr<const Layer>> layers;
    std::uint32_t group_items;
};

/// For a stage whose layers read their weights once per chunk.
inline constexpr std::uint32_t whole_chunk = ~std::uint32_t{0};

/// A model that runs its layers in sequence: each one's output is the next one's input.
class SequentialModel final : public Model {
public:
    /// `stages` and their weights outlive the model.
    SequentialModel(Device& device, std::span<const SequentialStage> stages, std::uint32_t most_items);

    [[nodiscard]] IoShape shape() const noexcept override { return shape_; }
    void forward(Stream& stream, std::size_t items, std::span<const std::byte> in, std::span<std::byte> out) override;
    void forward_active(Stream& stream, std::size_t items, const std::uint32_t* active, std::span<const std::byte> in,
                        std::span<std::byte> out) override;

private:
    struct Step {
        IoShape shape;
        std::unique_ptr<Operation> operation;
    };
    struct Stage {
        std::vector<Step> steps;
        std::size_t group_items;
        Buffer between[2];  // (group_items, largest output of a step), used in turn
        Buffer result;      // (most_items, output of the last step); empty after the last stage
    };

    void run_group(Stream& stream, Stage& stage, const Batch& batch, std::span<const std::byte> in,
                   std::span<std::byte> out);

    std::size_t most_items_;
    IoShape shape_;
    std::vector<Stage> stages_;
};

/// A loaded app whose models are sequential.
class LoadedSequential : public LoadedApp {
public:
    /// `make_stages` reserves the layers' weights; their source must stay alive until weights() is packed.
    explicit LoadedSequential(const std::function<std::vector<SequentialStage>(PackedWeights&)>& make_stages)
        : stages_(make_stages(weights_)) {}

    PackedWeights* weights() override { return &weights_; }
    std::unique_ptr<Model> make_model(Device& device, const ModelRoom& room) const override {
        return std::make_unique<SequentialModel>(device, stages_, room.most_items);
    }

private:
    PackedWeights weights_;
    std::vector<SequentialStage> stages_;
};

}  // namespace sluice
