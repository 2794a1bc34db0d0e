-- SPDX-License-Identifier: Apache-2.0
-- Publications of 4 KiB under 200 names, each with another blob.
local count = 0
local blob = string.rep("x", 4088)
local headers = { ["Content-Type"] = "application/octet-stream", ["Hawser-Epoch"] = "5", ["Hawser-Ttl-Millis"] = "3600000" }

request = function()
  count = count + 1
  return wrk.format("PUT", "/v1/agents/agent-" .. (count % 200), headers, blob .. string.format("%08d", count))
end
