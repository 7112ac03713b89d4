#pragma once

#include <memory>

#include "core/codec.hpp"
#include "core/config/config.hpp"
#include "core/input/input_files.hpp"
#include "core/input/item_source.hpp"

namespace sluice {

/// The items of `files`, numbered one file after the other, indexed with several threads: before it returns, or
/// `beside` reads of items (ItemSource::known()). Throws Error like open_input().
[[nodiscard]] std::unique_ptr<ItemSource> make_many_source(InputFiles files, const JobConfig::Input& input,
                                                           const ItemCodec& codec, bool beside = false);

}  // namespace sluice
