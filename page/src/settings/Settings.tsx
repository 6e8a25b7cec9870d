import { Title } from "@mantine/core";
import type { SettingsTab } from "../shell/router";

/** The settings, one tab at a time. */
export default function Settings({ tab }: { tab: SettingsTab }) {
  return <Title order={2}>Settings: {tab}</Title>;
}
