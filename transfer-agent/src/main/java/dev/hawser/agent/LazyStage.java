/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.agent;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executor;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.BiConsumer;
import java.util.function.BiFunction;
import java.util.function.Consumer;
import java.util.function.Function;
import org.jspecify.annotations.NullUnmarked;

/**
 * A stage whose {@link CompletableFuture} comes into being only when someone asks for it: who just awaits pays nothing for
 * it. Dependents run on the agent's callback executor, never on a thread of the engine.
 *
 * <p>{@code CompletionStage} itself says nothing about nulls, hence {@code NullUnmarked}.
 */
@NullUnmarked
abstract class LazyStage<T> implements CompletionStage<T> {
  private final AtomicReference<CompletableFuture<T>> stage = new AtomicReference<>();

  /** Completes the stage if what it stands for has ended; called after the stage came into being, and at the end. */
  abstract void completeIfEnded(CompletableFuture<T> future);

  /** The stage, if anybody has asked for it. */
  final CompletableFuture<T> stageOrNull() {
    return stage.get();
  }

  private CompletableFuture<T> stage() {
    CompletableFuture<T> present = stage.get();
    if (present == null) {
      CompletableFuture<T> made = new CompletableFuture<>();
      present = stage.compareAndExchange(null, made);
      if (present == null) {
        present = made;
        // Either this sees the end, or who ends it sees the stage.
        completeIfEnded(made);
      }
    }
    return present;
  }

  /** A future of its own: completing or cancelling it changes nothing here. */
  @Override
  public final CompletableFuture<T> toCompletableFuture() {
    return stage().copy();
  }

  @Override
  public final <U> CompletionStage<U> thenApply(Function<? super T, ? extends U> fn) {
    return stage().thenApply(fn);
  }

  @Override
  public final <U> CompletionStage<U> thenApplyAsync(Function<? super T, ? extends U> fn) {
    return stage().thenApplyAsync(fn);
  }

  @Override
  public final <U> CompletionStage<U> thenApplyAsync(Function<? super T, ? extends U> fn, Executor executor) {
    return stage().thenApplyAsync(fn, executor);
  }

  @Override
  public final CompletionStage<Void> thenAccept(Consumer<? super T> action) {
    return stage().thenAccept(action);
  }

  @Override
  public final CompletionStage<Void> thenAcceptAsync(Consumer<? super T> action) {
    return stage().thenAcceptAsync(action);
  }

  @Override
  public final CompletionStage<Void> thenAcceptAsync(Consumer<? super T> action, Executor executor) {
    return stage().thenAcceptAsync(action, executor);
  }

  @Override
  public final CompletionStage<Void> thenRun(Runnable action) {
    return stage().thenRun(action);
  }

  @Override
  public final CompletionStage<Void> thenRunAsync(Runnable action) {
    return stage().thenRunAsync(action);
  }

  @Override
  public final CompletionStage<Void> thenRunAsync(Runnable action, Executor executor) {
    return stage().thenRunAsync(action, executor);
  }

  @Override
  public final <U, V> CompletionStage<V> thenCombine(CompletionStage<? extends U> other,
      BiFunction<? super T, ? super U, ? extends V> fn) {
    return stage().thenCombine(other, fn);
  }

  @Override
  public final <U, V> CompletionStage<V> thenCombineAsync(CompletionStage<? extends U> other,
      BiFunction<? super T, ? super U, ? extends V> fn) {
    return stage().thenCombineAsync(other, fn);
  }

  @Override
  public final <U, V> CompletionStage<V> thenCombineAsync(CompletionStage<? extends U> other,
      BiFunction<? super T, ? super U, ? extends V> fn, Executor executor) {
    return stage().thenCombineAsync(other, fn, executor);
  }

  @Override
  public final <U> CompletionStage<Void> thenAcceptBoth(CompletionStage<? extends U> other,
      BiConsumer<? super T, ? super U> action) {
    return stage().thenAcceptBoth(other, action);
  }

  @Override
  public final <U> CompletionStage<Void> thenAcceptBothAsync(CompletionStage<? extends U> other,
      BiConsumer<? super T, ? super U> action) {
    return stage().thenAcceptBothAsync(other, action);
  }

  @Override
  public final <U> CompletionStage<Void> thenAcceptBothAsync(CompletionStage<? extends U> other,
      BiConsumer<? super T, ? super U> action, Executor executor) {
    return stage().thenAcceptBothAsync(other, action, executor);
  }

  @Override
  public final CompletionStage<Void> runAfterBoth(CompletionStage<?> other, Runnable action) {
    return stage().runAfterBoth(other, action);
  }

  @Override
  public final CompletionStage<Void> runAfterBothAsync(CompletionStage<?> other, Runnable action) {
    return stage().runAfterBothAsync(other, action);
  }

  @Override
  public final CompletionStage<Void> runAfterBothAsync(CompletionStage<?> other, Runnable action, Executor executor) {
    return stage().runAfterBothAsync(other, action, executor);
  }

  @Override
  public final <U> CompletionStage<U> applyToEither(CompletionStage<? extends T> other, Function<? super T, U> fn) {
    return stage().applyToEither(other, fn);
  }

  @Override
  public final <U> CompletionStage<U> applyToEitherAsync(CompletionStage<? extends T> other,
      Function<? super T, U> fn) {
    return stage().applyToEitherAsync(other, fn);
  }

  @Override
  public final <U> CompletionStage<U> applyToEitherAsync(CompletionStage<? extends T> other, Function<? super T, U> fn,
      Executor executor) {
    return stage().applyToEitherAsync(other, fn, executor);
  }

  @Override
  public final CompletionStage<Void> acceptEither(CompletionStage<? extends T> other, Consumer<? super T> action) {
    return stage().acceptEither(other, action);
  }

  @Override
  public final CompletionStage<Void> acceptEitherAsync(CompletionStage<? extends T> other, Consumer<? super T> action) {
    return stage().acceptEitherAsync(other, action);
  }

  @Override
  public final CompletionStage<Void> acceptEitherAsync(CompletionStage<? extends T> other, Consumer<? super T> action,
      Executor executor) {
    return stage().acceptEitherAsync(other, action, executor);
  }

  @Override
  public final CompletionStage<Void> runAfterEither(CompletionStage<?> other, Runnable action) {
    return stage().runAfterEither(other, action);
  }

  @Override
  public final CompletionStage<Void> runAfterEitherAsync(CompletionStage<?> other, Runnable action) {
    return stage().runAfterEitherAsync(other, action);
  }

  @Override
  public final CompletionStage<Void> runAfterEitherAsync(CompletionStage<?> other, Runnable action, Executor executor) {
    return stage().runAfterEitherAsync(other, action, executor);
  }

  @Override
  public final <U> CompletionStage<U> thenCompose(Function<? super T, ? extends CompletionStage<U>> fn) {
    return stage().thenCompose(fn);
  }

  @Override
  public final <U> CompletionStage<U> thenComposeAsync(Function<? super T, ? extends CompletionStage<U>> fn) {
    return stage().thenComposeAsync(fn);
  }

  @Override
  public final <U> CompletionStage<U> thenComposeAsync(Function<? super T, ? extends CompletionStage<U>> fn,
      Executor executor) {
    return stage().thenComposeAsync(fn, executor);
  }

  @Override
  public final <U> CompletionStage<U> handle(BiFunction<? super T, Throwable, ? extends U> fn) {
    return stage().handle(fn);
  }

  @Override
  public final <U> CompletionStage<U> handleAsync(BiFunction<? super T, Throwable, ? extends U> fn) {
    return stage().handleAsync(fn);
  }

  @Override
  public final <U> CompletionStage<U> handleAsync(BiFunction<? super T, Throwable, ? extends U> fn, Executor executor) {
    return stage().handleAsync(fn, executor);
  }

  @Override
  public final CompletionStage<T> whenComplete(BiConsumer<? super T, ? super Throwable> action) {
    return stage().whenComplete(action);
  }

  @Override
  public final CompletionStage<T> whenCompleteAsync(BiConsumer<? super T, ? super Throwable> action) {
    return stage().whenCompleteAsync(action);
  }

  @Override
  public final CompletionStage<T> whenCompleteAsync(BiConsumer<? super T, ? super Throwable> action,
      Executor executor) {
    return stage().whenCompleteAsync(action, executor);
  }

  @Override
  public final CompletionStage<T> exceptionally(Function<Throwable, ? extends T> fn) {
    return stage().exceptionally(fn);
  }
}
