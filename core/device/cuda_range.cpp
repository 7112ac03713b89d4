#include <nvtx3/nvToolsExt.h>

#include <array>
#include <string>

#include "core/device/profiler_range.hpp"

namespace sluice {
namespace {

struct ProfilerNames {
    nvtxDomainHandle_t domain = nvtxDomainCreateA("sluice");
    std::array<nvtxStringHandle_t, stage_count> stages{};

    ProfilerNames() {
        for (const Stage stage : all_stages) {
            stages[index_of(stage)] = nvtxDomainRegisterStringA(domain, std::string(to_string(stage)).c_str());
        }
    }
};

const ProfilerNames& names() {
    static const ProfilerNames names;
    return names;
}

}  // namespace

ProfilerRange::ProfilerRange(Stage stage, const Chunk& chunk) {
    nvtxEventAttributes_t attributes{};
    attributes.version = NVTX_VERSION;
    attributes.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
    attributes.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
    attributes.message.registered = names().stages[index_of(stage)];
    attributes.payloadType = NVTX_PAYLOAD_TYPE_UNSIGNED_INT64;
    attributes.payload.ullValue = chunk.id;
    nvtxDomainRangePushEx(names().domain, &attributes);
}

ProfilerRange::~ProfilerRange() {
    nvtxDomainRangePop(names().domain);
}

}  // namespace sluice
