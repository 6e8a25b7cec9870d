import type { ReactNode } from "react";
import { Room as Frame } from "../shell/Room";
import type { Room } from "../shell/router";
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

const closing = { id: "close-room", title: "Back to the chat", group: "MCP" };

/** One of the rooms about servers: their tools, their state, what they say. */
export default function Rooms({ room }: { room: Room }) {
  return (
    <Frame title={titles[room]} closing={closing} className={classes.column}>
      <RoomLinks current={room} />
      {contents[room]()}
    </Frame>
  );
}
