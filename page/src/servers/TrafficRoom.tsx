import { Button, SegmentedControl, Select, Switch, TextInput } from "@mantine/core";
import { useMemo, useRef, useState } from "react";
import { save } from "../api/bytes";
import { api } from "../api/client";
import type { TrafficMessage } from "../api/types";
import { Failure } from "../settings/Warning";
import { tell } from "../shell/messages";
import classes from "./Rooms.module.css";
import { fitting, grown, noFilter, type TrafficFilter } from "./traffic";
import { TrafficList } from "./TrafficList";
import { usePolled } from "./usePolled";
import { counted } from "./words";

const EVERY_MS = 1_000;

const kinds = ["all", "request", "response", "notification", "error", "garbage"] as const;

/** Messages as they come, and the switch that records them. */
function useTraffic() {
  const [messages, setMessages] = useState<readonly TrafficMessage[]>([]);
  const [recording, setRecording] = useState<boolean | null>(null);
  const last = useRef(0);
  const switched = useRef(0);
  const { problem } = usePolled(async () => {
    const before = switched.current;
    const page = await api.traffic(last.current);
    // Asked before the switch was turned: older than what it says.
    if (before !== switched.current) return;
    // A lower number than before is that of another process, which began to count anew.
    if (page.lastSeq < last.current) setMessages([]);
    else setMessages((now) => grown(now, page.messages));
    last.current = page.lastSeq < last.current ? 0 : page.lastSeq;
    setRecording(page.recording);
  }, EVERY_MS);
  const switchTo = (on: boolean) => {
    switched.current += 1;
    setRecording(on);
    api
      .switchTraffic(on)
      .then((page) => {
        switched.current += 1;
        setRecording(page.recording);
        if (!page.recording) setMessages([]);
      })
      .catch(tell);
  };
  return { messages, recording, problem, switchTo };
}

interface FiltersProps {
  filter: TrafficFilter;
  servers: readonly { value: string; label: string }[];
  onChange: (filter: TrafficFilter) => void;
}

function Filters({ filter, servers, onChange }: FiltersProps) {
  return (
    <div className={classes.filters}>
      <TextInput
        className={classes.grow}
        size="xs"
        aria-label="Search messages"
        placeholder="Search in messages"
        value={filter.text}
        onChange={(event) => onChange({ ...filter, text: event.currentTarget.value })}
      />
      <Select
        className={classes.choice}
        size="xs"
        aria-label="Server"
        placeholder="All servers"
        clearable
        searchable={servers.length > 10}
        data={[...servers]}
        value={filter.serverId}
        onChange={(serverId) => onChange({ ...filter, serverId })}
      />
      <Select
        className={classes.narrowChoice}
        size="xs"
        aria-label="Kind"
        allowDeselect={false}
        data={kinds.map((value) => ({ value, label: value === "all" ? "All kinds" : value }))}
        value={filter.kind}
        onChange={(kind) => onChange({ ...filter, kind: (kind ?? "all") as TrafficFilter["kind"] })}
      />
      <SegmentedControl
        size="xs"
        aria-label="Direction"
        data={[
          { value: "all", label: "Both" },
          { value: "out", label: "Sent" },
          { value: "in", label: "Received" },
        ]}
        value={filter.direction}
        onChange={(direction) => onChange({ ...filter, direction: direction as TrafficFilter["direction"] })}
      />
    </div>
  );
}

/** Every message to and from the servers, while it is recorded. */
export function TrafficRoom() {
  const { messages, recording, problem, switchTo } = useTraffic();
  const [filter, setFilter] = useState(noFilter);
  const found = useMemo(() => fitting(messages, filter), [messages, filter]);
  const servers = useMemo(() => {
    const names = new Map(messages.map((message) => [message.serverId, message.server]));
    return [...names].map(([value, label]) => ({ value, label })).sort((a, b) => a.label.localeCompare(b.label));
  }, [messages]);
  const keep = () => save("mcp-traffic.json", new Blob([JSON.stringify(found, null, 2)], { type: "application/json" }));
  return (
    <>
      <div className={classes.bar}>
        <Switch
          label="Record messages"
          checked={recording ?? false}
          disabled={recording === null}
          onChange={(event) => switchTo(event.currentTarget.checked)}
        />
        <span className="ph-space" />
        <Button size="xs" variant="default" disabled={found.length === 0} onClick={keep}>
          Export {counted(found.length, "message")}
        </Button>
      </div>
      <p className="ph-explained">
        Messages are kept in memory only, with secrets masked. Switching off forgets them.
      </p>
      <Failure message={problem} />
      {messages.length > 0 && <Filters filter={filter} servers={servers} onChange={setFilter} />}
      <p role="status" className={`ph-explained ${classes.quiet}`}>
        {recording === false && messages.length === 0 && "Nothing is recorded."}
        {recording && messages.length === 0 && "Waiting for messages…"}
        {messages.length > 0 && found.length === 0 && "No message fits."}
      </p>
      {found.length > 0 && <TrafficList messages={found} />}
    </>
  );
}
