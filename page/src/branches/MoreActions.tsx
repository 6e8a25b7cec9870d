import { ActionIcon, Menu, Tooltip } from "@mantine/core";
import { ReplayItem } from "../replay/ReplayItem";
import { BranchIcon, DotsIcon, EyeOffIcon, NewWindowIcon, TreeIcon } from "../shell/icons";
import { tell } from "../shell/messages";
import { copyInto } from "../store/branching";
import { useApp } from "../store/store";
import { hideWithUndo } from "./hiding";
import { openTree } from "./opened";

interface MoreActionsProps {
  what: "message" | "answer";
  runId: string;
  /** By what it is hidden; null where there is nothing to hide. */
  itemId: string | null;
  /** Whether nothing is under way for it: until then it is neither copied nor hidden. */
  isOver: boolean;
  /** Go on from here with another message; null where a button beside the menu does that. */
  onBranch: (() => void) | null;
}

const upTo = { message: "All up to this message, with its answer", answer: "All up to this answer" };

/** What is done more seldom about a message or an answer. */
export function MoreActions({ what, runId, itemId, isOver, onBranch }: MoreActionsProps) {
  const hasBranches = useApp((state) => (state.open?.conversation.branches ?? 0) > 0);
  return (
    <Menu position={what === "message" ? "bottom-end" : "bottom-start"} width={290}>
      <Tooltip label="More">
        <Menu.Target>
          <ActionIcon size="sm" aria-label={`More about this ${what}`}>
            <DotsIcon size={15} />
          </ActionIcon>
        </Menu.Target>
      </Tooltip>
      <Menu.Dropdown>
        {onBranch && (
          <Menu.Item leftSection={<BranchIcon size={15} />} onClick={onBranch}>
            Branch from here
            <div className="ph-menu-note">Write something else in its place</div>
          </Menu.Item>
        )}
        {what === "answer" && <ReplayItem runId={runId} />}
        {isOver && (
          <Menu.Item leftSection={<NewWindowIcon size={15} />} onClick={() => void copyInto(runId).catch(tell)}>
            Branch into a new conversation
            <div className="ph-menu-note">{upTo[what]}</div>
          </Menu.Item>
        )}
        {hasBranches && (
          <Menu.Item leftSection={<TreeIcon size={15} />} onClick={openTree}>
            All branches
          </Menu.Item>
        )}
        {isOver && itemId && (
          <Menu.Item leftSection={<EyeOffIcon size={15} />} onClick={() => void hideWithUndo(itemId, what).catch(tell)}>
            Hide from models
          </Menu.Item>
        )}
      </Menu.Dropdown>
    </Menu>
  );
}
