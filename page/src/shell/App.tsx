import { lazy, Suspense } from "react";
import { useApp } from "../store/store";
import { useRoute } from "./router";

const Settings = lazy(() => import("../settings/Settings"));

/** The whole page. */
export function App() {
  const phase = useApp((state) => state.phase);
  const route = useRoute();
  if (phase.name !== "ready") return <main>{phase.name}</main>;
  return (
    <Suspense fallback={null}>{route.page === "settings" ? <Settings tab={route.tab} /> : <main>Chat</main>}</Suspense>
  );
}
