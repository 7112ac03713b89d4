// A sluice of its own: its one app obeys its items. An item that begins with "crash" crashes the process, one with "hang"
// never ends, one with "slow" takes a fifth of a second, one with "fail" fails on its device, one with "unreadable" is
// never read to its end, and one with "poison" crashes whoever reads it. An item's label is its length and label.offset.
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <ctime>
#include <stdexcept>

#include "core/app.hpp"
#include "core/device/host_stream.hpp"
#include "tools/cli/main.hpp"

namespace sluice {
namespace {

enum class Order : std::uint8_t { none, crash, hang, slow, fail };

struct Item {
    Order order = Order::none;
    std::uint32_t length = 0;
};

constexpr std::array<std::string_view, 5> orders{"", "crash", "hang", "slow", "fail"};

[[noreturn]] void stay() {
    for (;;) {
        ::pause();
    }
}

std::int32_t obey(const Item& item) {
    switch (item.order) {
        case Order::none:
            break;
        case Order::crash:
            ::raise(SIGSEGV);
            break;
        case Order::hang:
            stay();
        case Order::slow: {
            const std::timespec time{.tv_sec = 0, .tv_nsec = 200'000'000};
            ::nanosleep(&time, nullptr);
            break;
        }
        case Order::fail:
            throw std::runtime_error("the device is sick");
    }
    return static_cast<std::int32_t>(item.length);
}

class FaultyCodec final : public ItemCodec {
public:
    [[nodiscard]] IoShape shape() const noexcept override { return {sizeof(Item), sizeof(std::int32_t)}; }
    void encode(std::uint64_t, std::string_view text, std::span<std::byte> to) const override {
        if (text.starts_with("unreadable")) {
            stay();
        }
        if (text.starts_with("poison")) {
            ::raise(SIGSEGV);
        }
        Item item{.length = static_cast<std::uint32_t>(text.size())};
        for (std::size_t i = 1; i < orders.size(); ++i) {
            item.order = text.starts_with(orders[i]) ? static_cast<Order>(i) : item.order;
        }
        std::memcpy(to.data(), &item, sizeof item);
    }
    [[nodiscard]] std::vector<std::uint64_t> fat_shape() const override { return {}; }
    [[nodiscard]] std::string pack_fat(std::span<const float>, std::span<std::byte>) const override {
        return "has no such form";
    }
    [[nodiscard]] std::string check_wire(std::span<const std::byte>) const override { return {}; }
    [[nodiscard]] std::vector<OutputField> output_fields() const override {
        return {{.name = "label", .type = FieldType::int32, .count = 1}};
    }
};

class FaultyModel final : public Model {
public:
    explicit FaultyModel(std::int32_t offset) : offset_(offset) {}

    [[nodiscard]] IoShape shape() const noexcept override { return FaultyCodec().shape(); }
    void forward(Stream& stream, std::size_t items, std::span<const std::byte> in, std::span<std::byte> out) override {
        for (std::size_t i = 0; i < items; ++i) {
            as_host(stream).run(
                [from = in.data() + i * sizeof(Item), to = out.data() + i * sizeof(std::int32_t), offset = offset_] {
                    Item item;
                    std::memcpy(&item, from, sizeof item);
                    const std::int32_t label = obey(item) + offset;
                    std::memcpy(to, &label, sizeof label);
                });
        }
    }

private:
    std::int32_t offset_;
};

class LoadedFaulty final : public LoadedApp {
public:
    explicit LoadedFaulty(std::int32_t offset) : offset_(offset) {}

    [[nodiscard]] std::unique_ptr<Model> make_model(Device&, std::uint32_t) const override {
        return std::make_unique<FaultyModel>(offset_);
    }

private:
    std::int32_t offset_;
};

constexpr std::array faulty_keys{KeySpec{.section = "label",
                                         .name = "offset",
                                         .type = KeyType::integer,
                                         .most = 1'000'000,
                                         .fallback = "0",
                                         .help = "Added to every label."}};

class OpenFaulty final : public OpenApp {
public:
    explicit OpenFaulty(std::int32_t offset) : offset_(offset) {}

    [[nodiscard]] IoShape shape() const noexcept override { return FaultyCodec().shape(); }
    [[nodiscard]] double flop_per_item() const noexcept override { return 1; }
    [[nodiscard]] std::unique_ptr<ItemCodec> make_codec() const override { return std::make_unique<FaultyCodec>(); }
    [[nodiscard]] WeightBlob read_weights(const std::string&) const override { return random_weights(0); }
    [[nodiscard]] WeightBlob random_weights(std::uint64_t) const override { return WeightBlob::of_floats(1); }
    [[nodiscard]] std::unique_ptr<LoadedApp> load(const WeightBlob&, Precision, DeviceKind) const override {
        return std::make_unique<LoadedFaulty>(offset_);
    }

private:
    std::int32_t offset_;
};

class FaultyApp final : public App {
public:
    [[nodiscard]] std::string_view name() const noexcept override { return "faulty"; }
    [[nodiscard]] std::string_view summary() const noexcept override { return "does what its items say"; }
    [[nodiscard]] std::span<const KeySpec> keys() const noexcept override { return faulty_keys; }
    [[nodiscard]] std::unique_ptr<OpenApp> open(const AppSettings& settings) const override {
        return std::make_unique<OpenFaulty>(static_cast<std::int32_t>(settings.get<std::uint64_t>("label.offset")));
    }
};

}  // namespace

}  // namespace sluice

int main(int argc, char** argv) {
    const sluice::FaultyApp app;
    return sluice::main(argc, argv, sluice::Apps({&app}));
}
