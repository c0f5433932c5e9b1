-- wrk plays the raw requests of a file in their order; one thread alone (-t 1).
--   wrk -t 1 … -s play.lua URL -- FILE cycle|once STATUS [STATUS]
-- FILE: the length of each request in bytes, a line feed, and the request. cycle: begins again at the end of the file;
-- once: the end of the file is an error. STATUS: what responses may have. Prints one line of JSON at the end.

local requests, position, cycle, expected = {}, 0, false, {}
local only

-- Read by done(), which runs apart from the thread: numbers, as wrk hands over nothing else faithfully.
unexpected, example, ran_out = 0, 0, 0

function setup(thread)
  only = thread
end

function init(arguments)
  local file = assert(io.open(arguments[1], "rb"))
  for length in function() return file:read("*l") end do
    requests[#requests + 1] = file:read(tonumber(length))
  end
  file:close()
  cycle = arguments[2] == "cycle"
  for i = 3, #arguments do
    expected[tonumber(arguments[i])] = true
  end
end

function request()
  position = position + 1
  if position > #requests then
    if not cycle then
      ran_out = 1
      wrk.thread:stop()
    end
    position = 1
  end
  return requests[position]
end

function response(status)
  if not expected[status] then
    unexpected = unexpected + 1
    example = status
  end
end

function done(summary, latency)
  local errors = summary.errors
  print(string.format(
    '{"requests": %d, "microseconds": %d, "p50": %d, "p99": %d, "connect": %d, "read": %d, "write": %d,' ..
    ' "timeout": %d, "unexpected": %d, "example": %d, "ran_out": %d}',
    summary.requests, summary.duration, latency:percentile(50), latency:percentile(99), errors.connect, errors.read,
    errors.write, errors.timeout, only:get("unexpected"), only:get("example"), only:get("ran_out")
  ))
end
