import { useComputedColorScheme } from "@mantine/core";
import { FitAddon } from "@xterm/addon-fit";
import { Terminal } from "@xterm/xterm";
import "@xterm/xterm/css/xterm.css";
import { useEffect, useRef } from "react";
import { openWire, type Wire } from "../api/line";
import type { TerminalView } from "../api/types";
import { theme } from "../theme/theme";
import { takeFocus } from "./focus";
import { handlesKey } from "./keys";
import { palettes } from "./palette";
import { TerminalSocket, type LineState } from "./socket";
import classes from "./Terminal.module.css";

/** Output that waits to be drawn; beyond this the line rests until it is. */
const WAITING_BYTES = 8 * 1024 * 1024;
/** A selection is told once it rests. */
const SELECTED_AFTER_MS = 250;

export interface ScreenProps {
  conversationId: string;
  onOpened: (terminal: TerminalView, news: { isOther: boolean }) => void;
  onState: (state: LineState) => void;
  onEnded: (exitCode: number | null) => void;
  onProblem: (message: string) => void;
  onSelected: (text: string) => void;
}

function openTerminal(conversationId: string): Wire {
  const wire = openWire(`/api/conversations/${encodeURIComponent(conversationId)}/terminal/socket`);
  wire.binaryType = "arraybuffer";
  return wire;
}

function newTerminal(scheme: "light" | "dark"): Terminal {
  return new Terminal({
    fontFamily: theme.fontFamilyMonospace ?? "monospace",
    fontSize: 12.5,
    lineHeight: 1.2,
    cursorBlink: false,
    scrollback: 5_000,
    minimumContrastRatio: 4.5,
    theme: palettes[scheme],
  });
}

/** Draw what comes; when that takes too long, hang up and go on from there later. */
function drawing(terminal: Terminal, socket: () => TerminalSocket): (bytes: Uint8Array) => void {
  let waiting = 0;
  let isPaused = false;
  return (bytes) => {
    waiting += bytes.length;
    terminal.write(bytes, () => {
      waiting -= bytes.length;
      if (!isPaused || waiting > 0) return;
      isPaused = false;
      socket().connect();
    });
    if (waiting > WAITING_BYTES && !isPaused) {
      isPaused = true;
      socket().pause();
    }
  };
}

function start(place: HTMLElement, scheme: "light" | "dark", props: () => ScreenProps): [Terminal, () => void] {
  const terminal = newTerminal(scheme);
  const fit = new FitAddon();
  terminal.loadAddon(fit);
  terminal.open(place);
  const draw = drawing(terminal, () => socket);
  const socket: TerminalSocket = new TerminalSocket({
    open: () => openTerminal(props().conversationId),
    onOpened: (view, news) => {
      if (news.isGap) terminal.reset();
      props().onOpened(view, news);
    },
    onBytes: draw,
    onState: (state) => props().onState(state),
    onEnded: (code) => props().onEnded(code),
    onProblem: (message) => props().onProblem(message),
  });
  const refit = () => place.clientWidth > 0 && place.clientHeight > 0 && fit.fit();
  const observer = new ResizeObserver(refit);
  observer.observe(place);
  let timer: ReturnType<typeof setTimeout> | undefined;
  terminal.onData((data) => socket.input(data));
  terminal.onResize(({ cols, rows }) => socket.resize(cols, rows));
  terminal.onSelectionChange(() => {
    clearTimeout(timer);
    props().onSelected(terminal.getSelection());
    timer = setTimeout(() => socket.select(terminal.getSelection()), SELECTED_AFTER_MS);
  });
  terminal.attachCustomKeyEventHandler((event) => handlesKey(terminal, event));
  refit();
  socket.connect();
  if (takeFocus()) terminal.focus();
  return [
    terminal,
    () => {
      clearTimeout(timer);
      observer.disconnect();
      socket.close();
      terminal.dispose();
    },
  ];
}

/** The session itself: what the agent sees, the person sees; what either types, both typed. */
export default function Screen(given: ScreenProps) {
  const place = useRef<HTMLDivElement>(null);
  const latest = useRef(given);
  const drawn = useRef<Terminal | null>(null);
  latest.current = given;
  const scheme = useComputedColorScheme("light", { getInitialValueInEffect: false });
  useEffect(() => {
    if (!place.current) return;
    const [terminal, stop] = start(place.current, scheme, () => latest.current);
    drawn.current = terminal;
    return stop;
  }, [given.conversationId]);
  useEffect(() => {
    if (drawn.current) drawn.current.options.theme = palettes[scheme];
  }, [scheme]);
  return <div ref={place} className={classes.screen} />;
}
