import { ActionIcon, Title } from "@mantine/core";
import { useEffect, useMemo, useRef, type ReactNode } from "react";
import { useCommands, type Command } from "../shell/commands";
import { CloseIcon } from "../shell/icons";
import type { Room } from "../shell/router";
import { leave } from "../shell/start";
import { RoomLinks } from "./RoomLinks";
import classes from "./Rooms.module.css";
import { StatusRoom } from "./StatusRoom";
import { ToolsRoom } from "./ToolsRoom";
import { TrafficRoom } from "./TrafficRoom";

const titles: Record<Room, string> = { tools: "Available tools", status: "Server status", traffic: "MCP traffic" };

const contents: Record<Room, () => ReactNode> = {
  tools: () => <ToolsRoom />,
  status: () => <StatusRoom />,
  traffic: () => <TrafficRoom />,
};

/** One of the rooms about servers: their tools, their state, what they say. */
export default function Rooms({ room }: { room: Room }) {
  const heading = useRef<HTMLHeadingElement>(null);
  const commands = useMemo<Command[]>(
    () => [{ id: "close-room", title: "Back to the chat", keys: ["escape"], group: "MCP", run: leave }],
    [],
  );
  useCommands(commands);
  // Whoever comes here by keyboard starts at the top of what is new.
  useEffect(() => heading.current?.focus({ preventScroll: true }), [room]);
  return (
    <div className={classes.scroller}>
      <div className={classes.column}>
        <header className={classes.head}>
          <Title order={1} size="h3" ref={heading} tabIndex={-1} className={classes.heading}>
            {titles[room]}
          </Title>
          <ActionIcon size="lg" aria-label="Back to the chat" onClick={leave}>
            <CloseIcon />
          </ActionIcon>
        </header>
        <RoomLinks current={room} />
        {contents[room]()}
      </div>
    </div>
  );
}
