import { Menu } from "@mantine/core";
import { ReplayIcon } from "../shell/icons";
import { navigate, replayPath } from "../shell/router";
import { useApp } from "../store/store";

/** The way from an answer to its replays, in a menu. */
export function ReplayItem({ runId }: { runId: string }) {
  const id = useApp(({ open }) => open?.conversation.id ?? "");
  return (
    <Menu.Item leftSection={<ReplayIcon size={15} />} onClick={() => navigate(replayPath(id, runId))}>
      Replay with…
    </Menu.Item>
  );
}
