import { Button } from "@mantine/core";
import { useEffect } from "react";
import { Dock } from "../approvals/Dock";
import { Comparison } from "../compare/Comparison";
import { useComparison } from "../compare/useComparison";
import { BeforeBranch } from "../branches/BeforeBranch";
import { BranchBar } from "../branches/BranchBar";
import { useKeepingLedger } from "../context/useLedger";
import { Composer } from "../composer/Composer";
import ReplayView from "../replay/ReplayView";
import shell from "../shell/App.module.css";
import { tell } from "../shell/messages";
import { branchPath, navigate, useRoute } from "../shell/router";
import { ServerGone } from "../shell/ServerGone";
import { Loading } from "../shell/Standstill";
import { goToBranch } from "../store/branching";
import { getState, useApp } from "../store/store";
import classes from "./Chat.module.css";
import { EmptyState } from "./EmptyState";
import { Timeline } from "./Timeline";

function Missing({ message }: { message: string }) {
  return (
    <div className={shell.standstill}>
      <p role="alert">{message}</p>
      <Button variant="default" onClick={() => navigate("/")}>
        Start a new conversation
      </Button>
    </div>
  );
}

/** Show the path that the address names; where it names an item, that leads to its own. */
function useNamedBranch(openId: string | null, branch: number | null): void {
  useEffect(() => {
    const { open } = getState();
    if (openId && branch !== null && open && open.branch !== branch) goToBranch(branch, null, branchPath(openId, branch)).catch(tell);
  }, [openId, branch]);
}

/** The conversation of the address: its timeline and the box for the next message. */
export function Chat({ itemId }: { itemId: string | null }) {
  const route = useRoute();
  const wanted = route.page === "chat" ? route.conversationId : null;
  const replay = route.page === "chat" ? route.replay : null;
  const openId = useApp((state) => state.open?.conversation.id ?? null);
  const isEmpty = useApp((state) => state.open?.order.length === 0);
  const problem = useApp((state) => state.openProblem);
  const group = useComparison();
  useKeepingLedger();
  useNamedBranch(openId === wanted ? wanted : null, route.page === "chat" && !itemId ? route.branch : null);
  const isDeleted = useApp((state) => (state.open?.conversation.deletedAt ?? null) !== null);
  // A replay is no way on.
  const isReplay = useApp(({ open }) => open?.branches.get(open.branch)?.kind === "replay");
  if (wanted && problem) return <Missing message={problem} />;
  if (wanted && openId !== wanted) return <Loading />;
  if (isDeleted) return <Missing message="This conversation was deleted." />;
  if (openId && replay) return <ReplayView key={replay.runId} conversationId={openId} {...replay} />;
  return (
    <div className={classes.chat} data-column>
      {openId && group ? (
        <Comparison key={`comparison-${group.itemId}`} conversationId={openId} group={group} />
      ) : openId && !isEmpty ? (
        <Timeline key={`timeline-${openId}`} conversationId={openId} itemId={itemId} />
      ) : (
        <EmptyState />
      )}
      <ServerGone />
      {openId && !group && <Dock key={`dock-${openId}`} itemId={itemId} />}
      {!group && <BranchBar />}
      {!isReplay && !group && <Composer key={`composer-${wanted}`} draftId={wanted ?? "new"} />}
      <BeforeBranch />
    </div>
  );
}
