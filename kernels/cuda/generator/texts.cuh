#pragma once

#include <cstdint>

#include "kernels/cuda/counts.cuh"
#include "kernels/cuda/generator/batch.hpp"
#include "kernels/philox.hpp"

/// Texts of rows, written byte by byte straight to their results.
namespace sluice::generator {

constexpr std::uint32_t end_of_text = 0;

enum class Append : std::uint8_t { continues, complete, ended };

/// A text as seen by the lane of its row.
class Text {
public:
    __device__ Text(const Sampling& sampling, const Batch& batch, const Row& row) : sampling_(sampling), row_(row) {
        const IoShape io = generator_io(sampling.max_length);
        item_ = batch.in + std::size_t{row.item} * io.input_bytes;
        result_ = batch.out + std::size_t{row.item} * io.output_bytes;
        start_ = *reinterpret_cast<const TextStart*>(item_);
        prefix_ = min(start_.prefix, sampling.max_length);
        doubt_ = batch.doubts == nullptr ? nullptr : batch.doubts + row.item;
    }

    __device__ void clear_result() const {
        const std::uint32_t words = generator_io(sampling_.max_length).output_bytes / 4;
        for (std::uint32_t i = 0; i < words; ++i) {
            reinterpret_cast<std::uint32_t*>(result_)[i] = 0;
        }
    }

    /// Appends the prefix's next byte, or the byte of draw.choose(uniform).
    template <class Draw>
    __device__ Append append(const Draw& draw) {
        if (row_.length < prefix_) {
            byte_ = prefix_bytes()[row_.length];
        } else {
            const float drawn = uniform();
            byte_ = draw.choose(drawn);
            row_.log_probability = __dadd_rn(row_.log_probability, draw.log_probability(byte_));
            if (doubt_ != nullptr) {
                row_.doubt = least(row_.doubt, draw.doubt(drawn, byte_));
            }
            if (byte_ == end_of_text) {
                return Append::ended;
            }
        }
        bytes()[row_.length++] = static_cast<std::uint8_t>(byte_);
        return row_.length < sampling_.max_length ? Append::continues : Append::complete;
    }

    /// Completes the text.
    __device__ void finish(TextCounts& counts, bool ended) const {
        auto* const end = reinterpret_cast<TextEnd*>(result_);
        end->length = static_cast<std::int32_t>(row_.length);
        end->log_probability = static_cast<float>(row_.log_probability);
        if (doubt_ != nullptr) {
            *doubt_ = row_.doubt;
        }
        add_count(counts.texts, 1);
        add_count(counts.new_tokens, row_.length - prefix_);
        add_count(counts.ended, ended ? 1 : 0);
    }

    [[nodiscard]] __device__ const Row& row() const { return row_; }
    [[nodiscard]] __device__ std::uint32_t last_byte() const { return byte_; }

private:
    [[nodiscard]] __device__ const float* draws() const {
        return reinterpret_cast<const float*>(item_ + sizeof(TextStart));
    }
    [[nodiscard]] __device__ const std::uint8_t* prefix_bytes() const {
        return reinterpret_cast<const std::uint8_t*>(draws() + sampling_.max_length);
    }
    [[nodiscard]] __device__ std::uint8_t* bytes() const {
        return reinterpret_cast<std::uint8_t*>(result_ + sizeof(TextEnd));
    }
    [[nodiscard]] __device__ float uniform() const {
        if (start_.has_draws != 0) {
            return draws()[row_.length];
        }
        return uniform_below_one(random_words(sampling_.seed, {.item = start_.number, .number = row_.length}).words[0]);
    }

    const Sampling& sampling_;
    Row row_;
    const std::byte* item_;
    std::byte* result_;
    TextDoubt* doubt_;
    TextStart start_;
    std::uint32_t prefix_;
    std::uint32_t byte_ = 0;
};

}  // namespace sluice::generator
