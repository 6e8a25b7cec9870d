import { useEffect, useMemo } from "react";
import { api, errorText } from "../api/client";
import type { ContextLedger } from "../api/types";
import { getState, setState, useApp, type KeptLedger } from "../store/store";
import { ledgerMoment } from "./ledger";

let isAsking = false;
/** What the ledger that is here was asked for; another one is asked for when that has become something else. */
let answered = "";
let wanted = "";

/** Ask for the ledger of a conversation until it is that of the last moment; while one is on its way others wait. */
async function refresh(conversationId: string): Promise<void> {
  if (isAsking || answered === wanted) return;
  isAsking = true;
  const asked = wanted;
  const kept = await api.context(conversationId).then(
    (ledger) => ({ conversationId, ledger, problem: "" }),
    (error: unknown) => ({ conversationId, ledger: ledgerOf(conversationId), problem: errorText(error) }),
  );
  isAsking = false;
  const openId = getState().open?.conversation.id;
  if (openId === conversationId) setState({ ledger: kept });
  // What could not be had is asked for when there is a reason to.
  answered = kept.problem ? "" : asked;
  if (openId && asked !== wanted) void refresh(openId);
}

function ledgerOf(conversationId: string): ContextLedger | null {
  const { ledger } = getState();
  return ledger?.conversationId === conversationId ? ledger.ledger : null;
}

/** Keep what is known of the open conversation's window up to date: asked for whenever it may have changed, and not else. */
export function useKeepingLedger(): void {
  const conversationId = useApp((state) => state.open?.conversation.id ?? null);
  const settings = useApp((state) => state.open?.conversation.settings);
  const moment = useApp((state) => ledgerMoment(state.open));
  const isConnected = useApp((state) => state.connection === "connected");
  const said = useMemo(() => JSON.stringify(settings), [settings]);
  useEffect(() => {
    if (!conversationId || !moment || !isConnected) return;
    wanted = `${moment} ${said}`;
    void refresh(conversationId);
  }, [conversationId, moment, said, isConnected]);
}

/** Draw with what is known of the open conversation's window. */
export function useLedger(): KeptLedger | null {
  return useApp(({ ledger, open }) => (ledger && ledger.conversationId === open?.conversation.id ? ledger : null));
}
