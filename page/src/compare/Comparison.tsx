import { ActionIcon, Button, Tabs, Tooltip } from "@mantine/core";
import { useElementSize } from "@mantine/hooks";
import { useEffect, useState } from "react";
import { CloseIcon, StopIcon } from "../shell/icons";
import { tell } from "../shell/messages";
import { modelName } from "../shell/ModelSelector";
import { followBeside } from "../store/beside";
import { useApp } from "../store/store";
import { goOnWith } from "./actions";
import { Column } from "./Column";
import classes from "./Compare.module.css";
import { modelOf } from "./facts";
import type { Group, Member } from "./group";
import { atWork, stateOf, stopAll } from "./runs";
import { settle } from "./settled";

/** A column that is narrower is hard to read: they stand behind tabs then. */
const NARROWEST_PX = 260;

interface GoOnProps {
  conversationId: string;
  group: Group;
  member: Member;
}

function GoOn({ conversationId, group, member }: GoOnProps) {
  const [isChosen, setChosen] = useState(false);
  const name = useApp((state) => modelName(state, modelOf(state.open, state.open?.runs.get(member.runId))));
  const others = useApp((state) => atWork(state, group).filter(({ id }) => id !== member.runId).length);
  const hasFailed = useApp((state) => state.open?.runs.get(member.runId)?.status === "failed");
  const goOn = () => {
    setChosen(true);
    goOnWith(conversationId, group, member)
      .catch(tell)
      .finally(() => setChosen(false));
  };
  return (
    <Tooltip label={others ? "What the others still work on is stopped" : "The others stay as branches"}>
      <Button size="compact-md" variant={hasFailed ? "subtle" : "light"} fullWidth loading={isChosen} aria-label={`Go on with this: ${name}`} onClick={goOn}>
        Go on with this
      </Button>
    </Tooltip>
  );
}

function TabName({ member }: { member: Member }) {
  const name = useApp((state) => {
    const open = stateOf(state, member);
    return modelName(state, modelOf(open, open?.runs.get(member.runId)));
  });
  const status = useApp((state) => stateOf(state, member)?.runs.get(member.runId)?.status);
  return (
    <span className={classes.tab}>
      {(status === "running" || status === "waiting" || status === "queued") && <span className={classes.dot} data-status={status} />}
      <span className={classes.tabName}>{name}</span>
    </span>
  );
}

/** The message that all of them answer, by its beginning. */
function Asked({ itemId }: { itemId: string }) {
  const text = useApp((state) => {
    const states = [state.open, ...state.beside.values()];
    return states.map((open) => open?.items.get(itemId)?.text).find((found) => found !== undefined) ?? "";
  });
  const [isWhole, setWhole] = useState(false);
  return (
    <button type="button" className={classes.question} data-whole={isWhole || undefined} aria-expanded={isWhole} onClick={() => setWhole(!isWhole)}>
      <span className="ph-hidden">You asked: </span>
      {text}
    </button>
  );
}

/** One message and its answers by several models, side by side and live, until the person goes on with one. */
export function Comparison({ conversationId, group }: { conversationId: string; group: Group }) {
  const { members } = group;
  const { ref, width } = useElementSize();
  const [shown, setShown] = useState(0);
  const isTabbed = width > 0 && width < members.length * NARROWEST_PX;
  const working = useApp((state) => atWork(state, group).length);
  // Those that are not open; the open one is followed already.
  const others = useApp(({ open }) => members.filter(({ branch }) => branch !== open?.branch).map(({ branch }) => branch).join(" "));
  useEffect(() => followBeside(conversationId, others.split(" ").filter(Boolean).map(Number)), [conversationId, others]);
  return (
    <div ref={ref} className={classes.comparison} role="group" aria-label="Answers side by side">
      <h1 className="ph-hidden">Answers side by side</h1>
      <div className={classes.top}>
        <Asked itemId={group.itemId} />
        {working > 1 && (
          <Button size="compact-sm" variant="default" leftSection={<StopIcon size={15} />} onClick={() => void stopAll(group).catch(tell)}>
            Stop all
          </Button>
        )}
        <Tooltip label="Show one answer at a time">
          <ActionIcon size="lg" aria-label="Close the columns" onClick={() => settle(group.itemId, true)}>
            <CloseIcon />
          </ActionIcon>
        </Tooltip>
      </div>
      {isTabbed && (
        <Tabs value={String(shown)} onChange={(value) => setShown(Number(value))}>
          <Tabs.List grow aria-label="Models">
            {members.map((member, at) => (
              <Tabs.Tab key={member.branch} value={String(at)} className={classes.tabButton ?? ""}>
                <TabName member={member} />
              </Tabs.Tab>
            ))}
          </Tabs.List>
        </Tabs>
      )}
      <div className={classes.columns}>
        {members.map((member, at) => (
          <Column key={member.branch} member={member} isHidden={isTabbed && at !== shown}>
            <GoOn conversationId={conversationId} group={group} member={member} />
          </Column>
        ))}
      </div>
    </div>
  );
}
