import { ActionIcon, Menu, Tooltip } from "@mantine/core";
import { useRef, useState } from "react";
import type { UserMessageItem } from "../api/types";
import type { Foot } from "../chat/rows";
import { newKey } from "../composer/drafts";
import chat from "../chat/Chat.module.css";
import { ReplayItem } from "../replay/ReplayItem";
import { CopyButton } from "../shell/CopyButton";
import { BranchIcon, DotsIcon, EyeOffIcon, NewWindowIcon, RetryIcon } from "../shell/icons";
import { tell } from "../shell/messages";
import { focusComposer } from "../shell/start";
import { branchFrom, copyInto } from "../store/branching";
import { useApp } from "../store/store";
import { Arrows } from "./Arrows";
import classes from "./Branches.module.css";
import { hideWithUndo } from "./hiding";
import { Action, useIsOver } from "./MessageActions";
import { openTree } from "./opened";
import { regenerateAsked } from "./regenerating";
import { TemperatureDialog } from "./TemperatureDialog";

interface RegenerateProps {
  runId: string;
  /** The model that answered, if it is known. */
  model: string;
}

/** Asks for another answer: by the same model, by another one, at another temperature. */
function Regenerate({ runId, model }: RegenerateProps) {
  const models = useApp((state) => state.models.models);
  const [isAsking, setAsking] = useState(false);
  const same = models.find(({ id }) => id === model);
  // A menu that is opened makes one answer; while it closes it can still be pressed.
  const key = useRef<string | null>(null);
  const again = async (modelId: string | null, temperature: number | null = null) => {
    if (!key.current) return;
    const wish = { modelId, temperature, key: key.current };
    key.current = null;
    await regenerateAsked(runId, wish).catch(tell);
  };
  const others = models.filter(({ id }) => id !== same?.id);
  return (
    <>
      <Menu position="bottom-start" width={260} onOpen={() => (key.current = newKey())}>
        <Tooltip label="Regenerate">
          <Menu.Target>
            <ActionIcon size="sm" aria-label="Regenerate">
              <RetryIcon size={15} />
            </ActionIcon>
          </Menu.Target>
        </Tooltip>
        <Menu.Dropdown className={classes.menu}>
          <Menu.Item onClick={() => void again(same?.id ?? null)}>
            With the same model
            {same && <div className="ph-menu-note">{same.name}</div>}
          </Menu.Item>
          <Menu.Item onClick={() => setAsking(true)}>At another temperature…</Menu.Item>
          {others.length > 0 && (
            <>
              <Menu.Divider />
              <Menu.Label>With another model</Menu.Label>
              <div className={classes.models}>
                {others.map(({ id, name }) => (
                  <Menu.Item key={id} className={classes.model ?? ""} onClick={() => void again(id)}>
                    {name}
                  </Menu.Item>
                ))}
              </div>
            </>
          )}
        </Menu.Dropdown>
      </Menu>
      <TemperatureDialog
        opened={isAsking}
        onClose={() => setAsking(false)}
        onChosen={(temperature) => {
          setAsking(false);
          void again(same?.id ?? null, temperature);
        }}
      />
    </>
  );
}

function More({ runId, itemId }: { runId: string; itemId: string | null }) {
  const hasBranches = useApp((state) => (state.open?.conversation.branches ?? 0) > 0);
  return (
    <Menu position="bottom-start">
      <Tooltip label="More">
        <Menu.Target>
          <ActionIcon size="sm" aria-label="More about this answer">
            <DotsIcon size={15} />
          </ActionIcon>
        </Menu.Target>
      </Tooltip>
      <Menu.Dropdown>
        <ReplayItem runId={runId} />
        {hasBranches && (
          <Menu.Item leftSection={<BranchIcon size={15} />} onClick={openTree}>
            All branches
          </Menu.Item>
        )}
        <Menu.Item leftSection={<NewWindowIcon size={15} />} onClick={() => void copyInto(runId).catch(tell)}>
          Branch into a new conversation
        </Menu.Item>
        {itemId && (
          <Menu.Item leftSection={<EyeOffIcon size={15} />} onClick={() => void hideWithUndo(itemId, "answer").catch(tell)}>
            Hide from models
          </Menu.Item>
        )}
      </Menu.Dropdown>
    </Menu>
  );
}

interface AnswerActionsProps {
  foot: Foot;
  /** What was said in it. */
  said: string;
  /** A piece of it, by which it is hidden; null where there is none. */
  itemId: string | null;
  model: string;
}

/** What can be done about an answer; while it is on its way, only the way to the others. */
export function AnswerActions({ foot: { runId, messageId, isFollowed }, said, itemId, model }: AnswerActionsProps) {
  const found = useApp((state) => state.open?.items.get(messageId ?? ""));
  const message: UserMessageItem | undefined = found?.kind === "user_message" ? found : undefined;
  const isOver = useIsOver(runId);
  const goOn = () => {
    branchFrom(runId);
    focusComposer();
  };
  return (
    <>
      <Arrows message={message} what="answer" />
      {isOver && (
        <span className={chat.quietly}>
          {said && <CopyButton value={said} label="Copy answer" />}
          <Regenerate runId={runId} model={model} />
          {isFollowed && (
            <Action label="Branch from here" onClick={goOn}>
              <BranchIcon size={15} />
            </Action>
          )}
          <More runId={runId} itemId={itemId} />
        </span>
      )}
    </>
  );
}
