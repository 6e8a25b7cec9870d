import { ActionIcon, Menu } from "@mantine/core";
import { useRef, useState } from "react";
import { ReplayItem } from "../replay/ReplayItem";
import { DotsIcon, EyeOffIcon, NewWindowIcon, TreeIcon } from "../shell/icons";
import { tell } from "../shell/messages";
import { Tip } from "../shell/Tip";
import { isReplay } from "../store/branches";
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
}

const upTo = { message: "All up to this message, with its answer", answer: "All up to this answer" };

/** What is done more seldom about a message or an answer. */
export function MoreActions({ what, runId, itemId, isOver }: MoreActionsProps) {
  const hasBranches = useApp((state) => (state.open?.conversation.branches ?? 0) > 0);
  // A copy would be gone on with.
  const isOfReplay = useApp(({ open }) => isReplay(open?.branches, open?.runs.get(runId)?.branch));
  const [isOpen, setOpen] = useState(false);
  // A menu that is opened makes one copy; while it closes it can still be pressed.
  const isFresh = useRef(false);
  const onChange = (opens: boolean) => {
    isFresh.current ||= opens;
    setOpen(opens);
  };
  const copy = () => {
    if (isFresh.current) void copyInto(runId).catch(tell);
    isFresh.current = false;
  };
  return (
    <Menu position={what === "message" ? "bottom-end" : "bottom-start"} width={290} opened={isOpen} onChange={onChange}>
      <Tip label="More" isQuiet={isOpen}>
        <Menu.Target>
          <ActionIcon size="sm" aria-label={`More about this ${what}`}>
            <DotsIcon size={15} />
          </ActionIcon>
        </Menu.Target>
      </Tip>
      <Menu.Dropdown>
        {what === "answer" && <ReplayItem runId={runId} />}
        {isOver && !isOfReplay && (
          <Menu.Item leftSection={<NewWindowIcon size={15} />} onClick={copy}>
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
