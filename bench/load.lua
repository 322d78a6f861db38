-- The load generator's script: sends one request template again and again with its placeholders filled (bench/workload.py names them),
-- and prints the outcome as one line of JSON. Arguments: template file, seed, first count, partitions, per partition, categories.

local parts, kinds, shifts, head = {}, {}, {}, nil
local partitions, per_partition, categories, count
local digits6, digits4, digits2 = {}, {}, {}

local function split(text)
  local at, total = 1, 0
  while true do
    local from, to, kind, shift = text:find("<<(%a)%+?(%d*)>>", at)
    parts[#parts + 1] = text:sub(at, (from or 0) - 1)
    total = total + #parts[#parts]
    if not from then return total end
    parts[#parts + 1] = ""
    kinds[#parts], shifts[#parts] = kind, tonumber(shift) or 0
    at = to + 1
  end
end

local widths = { p = 6, s = 4, d = 1, c = 2, n = 10 }

function init(args)
  local file = assert(io.open(args[1], "rb"))
  local text = file:read("*a")
  file:close()
  math.randomseed(tonumber(args[2]))
  count = tonumber(args[3])
  partitions, per_partition, categories = tonumber(args[4]), tonumber(args[5]), tonumber(args[6])
  for i = 0, partitions do digits6[i] = string.format("%06d", i) end
  for i = 0, per_partition do digits4[i] = string.format("%04d", i) end
  for i = 0, categories do digits2[i] = string.format("%02d", i) end
  local headers, body = text:match("^(.-\r\n\r\n)(.*)$")
  local length = split(body)
  for _, kind in pairs(kinds) do length = length + widths[kind] end
  headers = headers:gsub("CONTENT_LENGTH", tostring(length))
  parts[1] = headers .. parts[1]
end

function request()
  local partition, sort = math.random(0, partitions - 1), 0
  count = count + 1
  for i = 2, #parts, 2 do
    local kind = kinds[i]
    if kind == "p" then
      parts[i] = digits6[(partition + shifts[i]) % partitions]
    elseif kind == "s" then
      sort = math.random(0, per_partition - 1)
      parts[i] = digits4[sort]
    elseif kind == "d" then
      parts[i] = digits4[sort]:sub(4)
    elseif kind == "c" then
      parts[i] = digits2[(partition + shifts[i]) % partitions % categories]
    else
      parts[i] = string.format("%d", count)
    end
  end
  return table.concat(parts)
end

function done(summary, latency)
  local errors = summary.errors
  io.write(string.format(
    '\nRESULT {"requests":%d,"microseconds":%d,"refused":%d,"broken":%d,"timeouts":%d,'
      .. '"p50":%d,"p99":%d,"p999":%d,"max":%d}\n',
    summary.requests, summary.duration, errors.status, errors.connect + errors.read + errors.write, errors.timeout,
    latency:percentile(50), latency:percentile(99), latency:percentile(99.9), latency.max))
end
