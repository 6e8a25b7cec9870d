import { Button } from "@mantine/core";
import { ColumnsIcon } from "../shell/icons";
import { settle } from "./settled";
import { useGroupAtEnd } from "./useComparison";

/** The way back to the columns of the comparison that a conversation ends with. */
export function SideBySide() {
  const group = useGroupAtEnd();
  if (!group) return null;
  return (
    <Button size="compact-xs" variant="subtle" color="gray" leftSection={<ColumnsIcon size={14} />} onClick={() => settle(group.itemId, false)}>
      Show the answers side by side
    </Button>
  );
}
