import { Modal } from "@mantine/core";
import { useMediaQuery } from "@mantine/hooks";
import { useEffect, useRef, useState, type KeyboardEvent } from "react";
import { errorText } from "../api/client";
import type { BranchNode, BranchTree } from "../api/types";
import { Loading } from "../shell/Standstill";
import { tell } from "../shell/messages";
import { when } from "../shell/time";
import { goToReplay } from "../replay/going";
import { fetchTree, goToBranch } from "../store/branching";
import { useApp } from "../store/store";
import { closeTree, useTreeOpened } from "./opened";
import { fromWords, kindWords, statusWords, treeRows, type TreeRow } from "./tree";
import classes from "./Tree.module.css";

function Facts({ node }: { node: BranchNode }) {
  const name = useApp((state) => state.models.models.find(({ id }) => id === node.model)?.name ?? node.model);
  const messages = node.messages === 1 ? "1 message" : `${node.messages} messages`;
  return <span className={classes.facts}>{[kindWords(node), name, when(node.updatedAt), messages].filter(Boolean).join(" · ")}</span>;
}

interface RowProps {
  row: TreeRow;
  isShown: boolean;
  isFocusable: boolean;
  onChoose: () => void;
}

/** Where it leaves its parent, above the first that does so there; to those who hear it, of each. */
function From({ node, isFirstThere }: Pick<TreeRow, "node" | "isFirstThere">) {
  const words = fromWords(node);
  if (!words) return null;
  return <span className={isFirstThere ? classes.from : "ph-hidden"}>{words} </span>;
}

function Row({ row: { node, depth, rails, isFirstThere }, isShown, isFocusable, onChoose }: RowProps) {
  const status = statusWords(node);
  return (
    <li
      role="treeitem"
      aria-level={depth + 1}
      aria-selected={isShown}
      tabIndex={isFocusable ? 0 : -1}
      className={classes.row}
      data-branch={node.number}
      data-kind={node.kind}
      data-autofocus={isShown || undefined}
      onClick={onChoose}
    >
      {rails.map((goesOn, at) => (
        <span key={at} className={classes.rail} data-goes-on={goesOn || undefined} data-leads={at === rails.length - 1 || undefined} />
      ))}
      <span className={classes.card}>
        <From node={node} isFirstThere={isFirstThere} />
        <span className={classes.words}>{node.firstWords.trim() || "(no words)"}</span>
        <Facts node={node} />
        {(isShown || status || node.kind === "replay") && (
          <span className={classes.marks}>
            {isShown && <span className={classes.mark}>Shown now</span>}
            {node.kind === "replay" && <span className={classes.mark}>Replay</span>}
            {status && (
              <span className={classes.mark} data-status={node.status}>
                {status}
              </span>
            )}
          </span>
        )}
      </span>
    </li>
  );
}

/** Return the row to go to by a key, or null. */
function stepped(key: string, at: number, count: number): number | null {
  if (key === "ArrowDown") return Math.min(at + 1, count - 1);
  if (key === "ArrowUp") return Math.max(at - 1, 0);
  if (key === "Home") return 0;
  return key === "End" ? count - 1 : null;
}

function Tree({ tree }: { tree: BranchTree }) {
  const shown = useApp((state) => state.open?.branch ?? 0);
  const rows = treeRows(tree.branches);
  const isThere = rows.some(({ node }) => node.number === shown);
  const list = useRef<HTMLUListElement>(null);
  useEffect(() => list.current?.querySelector<HTMLElement>("[tabindex='0']")?.focus(), []);
  const choose = (node: BranchNode) => {
    closeTree();
    (node.kind === "replay" ? goToReplay(node) : goToBranch(node.number)).catch(tell);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const items = [...(list.current?.querySelectorAll<HTMLElement>("[role=treeitem]") ?? [])];
    const at = items.indexOf(document.activeElement as HTMLElement);
    const next = stepped(event.key, at, items.length);
    if (next !== null) items[next]?.focus();
    else if ((event.key === "Enter" || event.key === " ") && rows[at]) choose(rows[at].node);
    else return;
    event.preventDefault();
  };
  return (
    <ul ref={list} role="tree" aria-label="Branches" className={classes.tree} onKeyDown={onKeyDown}>
      {rows.map((row, at) => (
        <Row
          key={row.node.number}
          row={row}
          isShown={row.node.number === shown}
          isFocusable={isThere ? row.node.number === shown : at === 0}
          onChoose={() => choose(row.node)}
        />
      ))}
    </ul>
  );
}

/** Asks for the tree, and again whenever a branch was made or something in one came to its end. */
function Fetched({ id }: { id: string }) {
  const [tree, setTree] = useState<BranchTree | null>(null);
  const [problem, setProblem] = useState("");
  const moment = useApp(({ open }) => `${open?.conversation.branches} ${open?.elsewhere.size} ${[...(open?.runs.values() ?? [])].at(-1)?.status}`);
  useEffect(() => {
    let isCurrent = true;
    fetchTree(id).then(
      (told) => isCurrent && setTree(told),
      (error: unknown) => isCurrent && setProblem(errorText(error)),
    );
    return () => {
      isCurrent = false;
    };
  }, [id, moment]);
  if (problem) return <p role="alert">{problem}</p>;
  return tree ? <Tree tree={tree} /> : <Loading />;
}

/** All branches of the open conversation, to choose one. */
export default function TreeDialog() {
  const opened = useTreeOpened();
  const id = useApp((state) => state.open?.conversation.id ?? null);
  const isNarrow = useMediaQuery("(max-width: 600px)", false, { getInitialValueInEffect: false });
  return (
    <Modal opened={opened && id !== null} onClose={closeTree} title="Branches of this conversation" size="lg" fullScreen={isNarrow}>
      {id && <Fetched id={id} />}
    </Modal>
  );
}
