import type { MouseEvent } from "react";
import { navigate, roomPath, settingsPath, type Room } from "../shell/router";
import classes from "./Rooms.module.css";

const links: readonly [path: string, name: string, room: Room | null][] = [
  [settingsPath("mcp"), "Servers", null],
  [roomPath("tools"), "Tools", "tools"],
  [roomPath("status"), "Status", "status"],
  [roomPath("traffic"), "Traffic", "traffic"],
];

/** A link inside the page; with a modifier it is the browser's. */
function go(event: MouseEvent, path: string): void {
  if (event.metaKey || event.ctrlKey || event.shiftKey) return;
  event.preventDefault();
  navigate(path);
}

/** The way between the rooms about servers. */
export function RoomLinks({ current }: { current: Room | null }) {
  return (
    <nav className={classes.links} aria-label="MCP">
      {links.map(([path, name, room]) => (
        <a key={path} href={path} aria-current={room === current ? "page" : undefined} onClick={(event) => go(event, path)}>
          {name}
        </a>
      ))}
    </nav>
  );
}
